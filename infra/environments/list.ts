import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { ApplicationLogLevel } from 'aws-cdk-lib/aws-lambda';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { PartialAgentQueueSettings } from '../agents/settings';
import type { SimulationSettings } from '../tasks/functions/create-tasks';
import type { SimulatedRates } from '../tasks/runners/rates';
import type { PartialQueueSettings } from '../tasks/settings';

/** Name of an environment. Its stacks are `LifoQueue-<name>` and `AgentQueue-<name>`. */
export type EnvironmentName = string;

/** Task runner of an environment. An app that requires another runner creates its own `LifoQueue`. */
export type RunnerConfig =
  | {
      readonly kind: 'simulated';
      readonly capacity?: number;
      readonly durationSeconds?: number;
      readonly rates?: SimulatedRates;
    }
  | { readonly kind: 'http'; readonly url: string; readonly auth?: HeaderAuthConfig };

/** An HTTP header whose value is a secret in Secrets Manager. */
export interface HeaderAuthConfig {
  /**
   * Name of the header.
   * @default Authorization
   */
  readonly headerName?: string;
  /** Complete ARN of the secret, whose string is the header's value. */
  readonly secretArn: string;
}

/** The agents' queue of an environment. */
export interface AgentQueueConfig {
  /** Whether the `agent-desk` command `seed` creates sample agents. Synthesis rejects it in prod. */
  readonly seed: boolean;
  /**
   * Settings of the agents' queue that differ from the defaults.
   * @default - none
   */
  readonly settings?: PartialAgentQueueSettings;
}

/** Configuration of one environment. */
export interface Environment {
  /** Name of the environment: 1 to 20 lowercase letters and digits, starting with a letter. */
  readonly name: EnvironmentName;
  /**
   * Name of a personal copy. Its stacks are `LifoQueue-<name>-<personal>` and `AgentQueue-<name>-<personal>`. Set it on
   * the command line (`make deploy ENV=dev NAME=alice`), not in this list.
   * @default - none: the team's stacks
   */
  readonly personal?: string;
  /**
   * AWS account id, twelve digits.
   * @default - the account of the credentials
   */
  readonly account?: string;
  /**
   * AWS region.
   * @default - the region of the credentials
   */
  readonly region?: string;
  /** Removal policy, which determines whether stack deletion deletes or retains the tables, work queues and logs. */
  readonly removalPolicy: RemovalPolicy;
  /** Whether DynamoDB rejects the deletion of the tables. */
  readonly deletionProtection: boolean;
  /** Whether CloudFormation rejects the deletion of the stacks. */
  readonly terminationProtection: boolean;
  /** Whether the tables can be restored to any second of the last 35 days. */
  readonly pointInTimeRecovery: boolean;
  /** Log level and log retention of the functions. */
  readonly logs: { readonly level: ApplicationLogLevel; readonly retention: RetentionDays };
  /** Task runner of the environment's task queue. */
  readonly runner: RunnerConfig;
  /**
   * Settings that let `create-tasks` create simulated tasks. Synthesis rejects them in prod.
   * @default - no simulation
   */
  readonly simulation?: SimulationSettings;
  /**
   * Settings of the task queue that differ from the defaults. `ingest: {}` adds an SQS queue in front of the table.
   * @default - none
   */
  readonly settings?: PartialQueueSettings;
  /**
   * Expected sustained rate, in tasks per second. Synthesis prints a warning if it exceeds the limit of one queue.
   * @default - unknown
   */
  readonly expectedTasksPerSecond?: number;
  /**
   * Whether an SQS queue (stack output `ShedTasksQueueUrl`) keeps shed tasks with their payload for 14 days. It is
   * enabled in every environment of the list, so that an operator can inspect a shed task and recreate it. An unused
   * queue is free. Disable it if payloads must not be kept after expiry, or if more tasks are shed than you would
   * inspect. The metric `ShedTasks` counts shed tasks in both cases.
   */
  readonly keepShedTasks: boolean;
  /**
   * Name of an EventBridge bus in the account and region of the stack, such as `default`. The bus receives an event for
   * each task that succeeds or fails.
   * @default - none; no events are published
   */
  readonly taskEventBus?: string;
  /**
   * Whether to create a CloudWatch dashboard for each stack. CloudWatch charges 3 USD per month per dashboard. The free
   * tier covers three dashboards per account with up to 50 metrics each. Personal stacks don't have a dashboard.
   * @default true
   */
  readonly dashboards?: boolean;
  /** The agents' queue, which is a separate stack. */
  readonly agentQueue: AgentQueueConfig;
  /**
   * ARN of the SNS topic that alarms publish to, in the stack's region. Its policy must allow CloudWatch to publish.
   * @default - none; alarms appear only in the CloudWatch console
   */
  readonly alarmTopicArn?: string;
  /**
   * Email addresses that receive the alarms. Each stack creates a topic for them with its own key (about a dollar a
   * month), and SNS asks each address to confirm. Can't be combined with {@link alarmTopicArn}.
   * @default - none
   */
  readonly alarmEmails?: readonly string[];
  /**
   * How long CloudFormation monitors the rollback alarms after a deployment, in whole minutes: 0, or at least the 7
   * minutes that the alarms take to fire.
   */
  readonly rollbackWatch: Duration;
  /** Tags applied to every resource. `project`, `environment`, `owner` and `cost-center` are required. */
  readonly tags: Readonly<Record<string, string>>;
}

/**
 * Placeholder for the runner's URL in staging and prod. `.invalid` never resolves (RFC 6761), so no request is sent
 * until you set your own URL. Synthesis prints a warning about the placeholder, and `make deploy` rejects it.
 */
export const UNSET_RUNNER_URL = 'https://tasks.invalid/run';

/** Tags applied to every resource. Set your own owner and cost center. */
const TAGS = { project: 'freshq', owner: 'unassigned', 'cost-center': 'unassigned' };

/** Task queue settings in staging and prod. They are identical, so that staging tests the prod settings. */
const TASKS: PartialQueueSettings = {
  tasks: { defaultTtl: Duration.hours(1) },
  // A maximum of ten tasks run concurrently. Add ratePerSecond if the downstream limits the request rate.
  processing: { concurrency: 10, taskTimeout: Duration.seconds(30) },
  alarms: { oldestPending: Duration.minutes(48) },
  // Adds an SQS queue in front of the table. The queue accepts tasks at any rate.
  ingest: {},
};

/**
 * Environments of this repository, in deployment order. Add an element for your own environment.
 * `npx cdk synth -c env=dev` selects one.
 */
export const ENVIRONMENTS: readonly Environment[] = [
  {
    name: 'dev',
    removalPolicy: RemovalPolicy.DESTROY,
    deletionProtection: false,
    terminationProtection: false,
    pointInTimeRecovery: false,
    logs: { level: ApplicationLogLevel.DEBUG, retention: RetentionDays.ONE_WEEK },
    // The capacity equals the concurrency, and runs are short, so the end-to-end tests take seconds and each task
    // starts once. With `-c unreliable=true`, the capacity is lower, and some tasks fail or are returned or retried.
    runner: { kind: 'simulated', capacity: 10, durationSeconds: 0.25 },
    simulation: {},
    // `-c iotPresence=true` creates a task for each device that connects to this account's IoT Core.
    settings: { ingest: {} },
    keepShedTasks: true,
    agentQueue: { seed: true },
    rollbackWatch: Duration.minutes(0),
    tags: { ...TAGS, environment: 'dev' },
  },
  {
    name: 'staging',
    removalPolicy: RemovalPolicy.RETAIN,
    deletionProtection: true,
    terminationProtection: true,
    pointInTimeRecovery: true,
    logs: { level: ApplicationLogLevel.INFO, retention: RetentionDays.ONE_MONTH },
    runner: { kind: 'http', url: UNSET_RUNNER_URL },
    simulation: {},
    settings: TASKS,
    keepShedTasks: true,
    agentQueue: { seed: true },
    rollbackWatch: Duration.minutes(10),
    tags: { ...TAGS, environment: 'staging' },
  },
  {
    name: 'prod',
    removalPolicy: RemovalPolicy.RETAIN,
    deletionProtection: true,
    terminationProtection: true,
    pointInTimeRecovery: true,
    logs: { level: ApplicationLogLevel.INFO, retention: RetentionDays.THREE_MONTHS },
    runner: { kind: 'http', url: UNSET_RUNNER_URL },
    settings: TASKS,
    keepShedTasks: true,
    agentQueue: { seed: false },
    rollbackWatch: Duration.minutes(10),
    tags: { ...TAGS, environment: 'prod' },
  },
];

/** Returns the environment with an IoT rule that creates a task for each device that connects to IoT Core. */
export function withIotPresence(environment: Environment): Environment {
  const { settings } = environment;
  return { ...environment, settings: { ...settings, ingest: { ...settings?.ingest, iotPresence: true } } };
}

/**
 * Simulated downstream that produces every task state: its capacity is below the concurrency, and some runs fail.
 */
export const UNRELIABLE = { capacity: 6, rates: { failure: 0.02, retry: 0.05, busy: 0.02 } };

/** Returns the environment with its simulated downstream set to {@link UNRELIABLE}. Other runners are unchanged. */
export function withUnreliableRunner(environment: Environment): Environment {
  const { runner } = environment;
  return runner.kind === 'simulated' ? { ...environment, runner: { ...runner, ...UNRELIABLE } } : environment;
}

/** Names of this repository's environments. */
export const ENVIRONMENT_NAMES: readonly EnvironmentName[] = ENVIRONMENTS.map(({ name }) => name);
