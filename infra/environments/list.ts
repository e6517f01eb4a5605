import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { ApplicationLogLevel } from 'aws-cdk-lib/aws-lambda';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { PartialAgentQueueSettings } from '../agents/settings';
import type { SimulationSettings } from '../tasks/functions/create-tasks';
import type { SimulatedRates } from '../tasks/runners/rates';
import type { PartialQueueSettings } from '../tasks/settings';

/** The name of an environment; its stacks are `LifoQueue-<name>` and `AgentQueue-<name>`. */
export type EnvironmentName = string;

/** The task runner of an environment. An app that needs more builds its own `LifoQueue`. */
export type RunnerConfig =
  | {
      readonly kind: 'simulated';
      readonly capacity?: number;
      readonly durationSeconds?: number;
      readonly rates?: SimulatedRates;
    }
  | { readonly kind: 'http'; readonly url: string; readonly auth?: HeaderAuthConfig };

/** A header from Secrets Manager. */
export interface HeaderAuthConfig {
  /**
   * The header.
   * @default Authorization
   */
  readonly headerName?: string;
  /** The whole ARN of the secret whose string is the header's value. */
  readonly secretArn: string;
}

/** The agents' queue of an environment. */
export interface AgentQueueConfig {
  /** Whether `agent-desk` makes up agents (`seed`). Never in prod. */
  readonly seed: boolean;
  /**
   * Settings of the agents' queue that differ from the defaults.
   * @default - none
   */
  readonly settings?: PartialAgentQueueSettings;
}

/** One environment. */
export interface Environment {
  /** Its name: 1 to 20 small letters and digits, a letter first. */
  readonly name: EnvironmentName;
  /**
   * The name of a personal copy: its stacks are `LifoQueue-<name>-<personal>` and `AgentQueue-<name>-<personal>`. Given on
   * the command line (`make deploy ENV=dev NAME=alice`), never here.
   * @default - none: the stacks of the team
   */
  readonly personal?: string;
  /**
   * The account, twelve digits.
   * @default - the one of the credentials in use
   */
  readonly account?: string;
  /**
   * The region.
   * @default - the one of the credentials in use
   */
  readonly region?: string;
  /** The fate of the tables, the work queues and the logs when a stack is deleted. */
  readonly removalPolicy: RemovalPolicy;
  /** Whether DynamoDB rejects the deletion of the tables. */
  readonly deletionProtection: boolean;
  /** Whether CloudFormation rejects the deletion of the stacks. */
  readonly terminationProtection: boolean;
  /** Whether the tables can be restored to any second of the last 35 days. */
  readonly pointInTimeRecovery: boolean;
  /** How the functions log. */
  readonly logs: { readonly level: ApplicationLogLevel; readonly retention: RetentionDays };
  /** What a task does. */
  readonly runner: RunnerConfig;
  /**
   * Lets `create-tasks` make up tasks. Never in prod.
   * @default - no simulation
   */
  readonly simulation?: SimulationSettings;
  /**
   * Settings of the queue that differ from the defaults. `ingest: {}` puts an SQS queue in front of the table.
   * @default - none
   */
  readonly settings?: PartialQueueSettings;
  /**
   * Sustained tasks per second; synthesis warns above the limit of one queue.
   * @default - unknown
   */
  readonly expectedTasksPerSecond?: number;
  /**
   * Whether an SQS queue keeps shed tasks with their payload for 14 days: the stack's output `ShedTasksQueueUrl`.
   * It is on in every environment, so that an operator can inspect a shed task and create it again. An unused queue
   * costs nothing. Switch it off where a payload must not outlive its expiry, or where more tasks are shed than you
   * would inspect. `ShedTasks` counts them in both cases.
   */
  readonly keepShedTasks: boolean;
  /**
   * The name of an EventBridge bus in the account and region of the stack, such as `default`. It gets an event of each task
   * that succeeded or failed.
   * @default - none; there are no events
   */
  readonly taskEventBus?: string;
  /**
   * Whether each stack has a CloudWatch dashboard. The first three of an account are free, each further one costs 3 USD a
   * month. Personal stacks have none.
   * @default true
   */
  readonly dashboards?: boolean;
  /** The agents' queue, a stack of its own. */
  readonly agentQueue: AgentQueueConfig;
  /**
   * The ARN of the SNS topic that alarms go to, in the region of the stack. It must let CloudWatch publish.
   * @default - none; the console shows the alarms
   */
  readonly alarmTopicArn?: string;
  /**
   * The addresses that alarms are sent to. Each stack makes a topic for them, with a key of its own (about a dollar a
   * month), and SNS asks each address to confirm. Instead of {@link alarmTopicArn}.
   * @default - none
   */
  readonly alarmEmails?: readonly string[];
  /**
   * How long after a deployment CloudFormation goes on watching the alarms on which it rolls back, in whole minutes: 0,
   * or at least the 7 minutes that they need to ring.
   */
  readonly rollbackWatch: Duration;
  /** Tags of every resource; `project`, `environment`, `owner` and `cost-center` among them. */
  readonly tags: Readonly<Record<string, string>>;
}

/**
 * The address that staging and prod are delivered with: `.invalid` never resolves (RFC 6761), so that nothing is sent
 * anywhere before you have put in your own. Synthesis warns of it.
 */
export const UNSET_RUNNER_URL = 'https://tasks.invalid/run';

/** Of everything; put in whom to ask, and who pays. */
const TAGS = { project: 'freshq', owner: 'unassigned', 'cost-center': 'unassigned' };

/** What staging and prod hold the downstream to; they differ in nothing that prod is tried out for. */
const TASKS: PartialQueueSettings = {
  tasks: { defaultTtl: Duration.hours(1) },
  // Ten at once; add ratePerSecond where the downstream counts.
  processing: { concurrency: 10, taskTimeout: Duration.seconds(30) },
  alarms: { oldestPending: Duration.minutes(48) },
  // A queue in front of the table, for producers at any rate.
  ingest: {},
};

/** The environments of this repository, in the order a change travels. Your own is one more element. `npx cdk synth -c env=dev` chooses one. */
export const ENVIRONMENTS: readonly Environment[] = [
  {
    name: 'dev',
    removalPolicy: RemovalPolicy.DESTROY,
    deletionProtection: false,
    terminationProtection: false,
    pointInTimeRecovery: false,
    logs: { level: ApplicationLogLevel.DEBUG, retention: RetentionDays.ONE_WEEK },
    // Capacity for every task that runs at once and quick, so that the end-to-end tests last seconds and each of their tasks
    // starts once. `-c unreliable=true` has less, and shows returns, retries and failures.
    runner: { kind: 'simulated', capacity: 10, durationSeconds: 0.25 },
    simulation: {},
    // `-c iotPresence=true` makes a simulated task of every device that connects to this account's IoT Core.
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

/** An environment whose ingest queue gets a task of every device that connects to IoT Core. */
export function withIotPresence(environment: Environment): Environment {
  const { settings } = environment;
  return { ...environment, settings: { ...settings, ingest: { ...settings?.ingest, iotPresence: true } } };
}

/** A downstream that shows every state: it takes fewer tasks than run at once, and some runs fail. */
export const UNRELIABLE = { capacity: 6, rates: { failure: 0.02, retry: 0.05, busy: 0.02 } };

/** An environment whose simulated downstream is {@link UNRELIABLE}. Other runners stay as they are. */
export function withUnreliableRunner(environment: Environment): Environment {
  const { runner } = environment;
  return runner.kind === 'simulated' ? { ...environment, runner: { ...runner, ...UNRELIABLE } } : environment;
}

/** The names of this repository's environments. */
export const ENVIRONMENT_NAMES: readonly EnvironmentName[] = ENVIRONMENTS.map(({ name }) => name);
