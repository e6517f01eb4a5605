import { Duration } from 'aws-cdk-lib';
import type { AGENT_QUEUE } from '../contract/agents';
import { definedOf } from '../lambda/defined';
import * as setting from '../lambda/setting';
import { VISIBILITY_FACTOR } from '../lambda/visibility';

/** Which of the matching agents is assigned: the one queued longest (`fifo`), or most recently (`lifo`). */
export type AgentOrder = (typeof AGENT_QUEUE.orders)[number];

/** A property that calls ask for and agents have, for example a language. */
export interface Dimension {
  /** Its name in calls and commands, for example `language`. */
  readonly name: string;
  /** The attribute of the agent's item that holds it, for example `Languages`. */
  readonly attribute: string;
  /**
   * Whether an agent may have several values of it. An agent is in one queue per combination of its values, for
   * example in 6 queues with 3 languages and 2 genders. The limit is 95 queues.
   * @default false
   */
  readonly multiValued?: boolean;
}

/** Settings of agents and of their assignment. */
export interface AgentSettings {
  /**
   * Which of the matching agents is assigned: `fifo`, the one queued longest, or `lifo`, the one queued most recently.
   * @default fifo
   */
  readonly order?: AgentOrder;
  /**
   * Dimensions that calls may ask for: 1 to 5. Dimensions cannot be added, removed or reordered while agents are
   * registered, because the names of the queues consist of the values. A single-valued dimension may become
   * multi-valued.
   * @default - language (`Languages`, multi-valued) and gender (`Gender`)
   */
  readonly dimensions?: Dimension[];
  /**
   * After transactions conflicted, a call chooses at random among the first agents of a queue: among at most this many,
   * 1 to 32. Without conflicts, each call gets the first agent. With 1 the order is always strict and the rate lower,
   * because calls of the same criteria are assigned one after the other.
   * @default 8
   */
  readonly contentionWindow?: number;
  /**
   * Duration of a call lease, counted from the assignment or the last `extend`. When it expires, the sweep makes the
   * agent available, but does not queue it.
   * @default - no limit: only `finish` ends a call
   */
  readonly callLease?: Duration;
  /**
   * Time in which an agent must answer an assignment with the command `extend`. After it, the sweep makes the agent
   * available, but does not queue it, and returns the call to its place in the line. The next assignment of the call
   * has the next number. The sweep acts up to {@link sweepInterval} later. If the call was then sent more than
   * `calls.maxWait` ago, it goes to the dead-letter queue.
   * @default - an assignment needs no answer
   */
  readonly answerWithin?: Duration;
  /**
   * Interval at which `sweep-agents` looks for expired calls, expired call leases and unpublished assignments, in whole
   * minutes.
   * @default 1 minute
   */
  readonly sweepInterval?: Duration;
}

/** Settings of the call queue and of pending calls. */
export interface CallSettings {
  /**
   * Time after which a pending call expires and goes to the dead-letter queue. The sweep looks for expired calls, so
   * this may take up to `agents.sweepInterval` longer.
   * @default 5 minutes
   */
  readonly maxWait?: Duration;
  /**
   * Maximum number of messages of one invocation of `match-calls`: 1 to 10, SQS's limit for a FIFO queue. Lambda
   * supports no batching window for a FIFO queue.
   * @default 10
   */
  readonly batchSize?: number;
  /**
   * Maximum number of concurrent invocations of `match-calls`: 2 to 1,000. Each message group, that is each set of
   * criteria, has one invocation at a time anyway. A queue of agents allows at most 500 matches/s, DynamoDB's write
   * limit of a partition. Near this limit, more concurrent invocations make fewer matches.
   * @default - as many as there are message groups
   */
  readonly maxConcurrency?: number;
  /**
   * Timeout of `match-calls`: 7 to 900 s. The function begins no call in its last 6 s.
   * @default 30 seconds
   */
  readonly functionTimeout?: Duration;
  /**
   * Memory of `match-calls` in MiB. Lambda assigns processor time in proportion.
   * @default 256
   */
  readonly memorySize?: number;
  /**
   * Time for which SQS hides a received message. If an invocation crashes, the message groups of its batch are delayed
   * by this time. At least six times {@link functionTimeout}, as AWS advises.
   * @default - six times functionTimeout
   */
  readonly visibilityTimeout?: Duration;
  /**
   * Attempts before SQS moves a message to the dead-letter queue. Until then it delays the later messages of its group,
   * because they must stay in order. SQS redelivers a failed message after 2 seconds, and from the sixth attempt on
   * after up to 30 seconds. 16 attempts take about four minutes.
   * @default 16
   */
  readonly maxReceiveCount?: number;
}

/** Thresholds of the alarms of the agents' queue. */
export interface AgentAlarmSettings {
  /**
   * Age of the oldest pending call, in whole seconds, above which an alarm fires, because calls are about to expire.
   * @default - 80 % of calls.maxWait
   */
  readonly oldestPending?: Duration;
  /**
   * Age of the oldest message in the call queue, in whole seconds, above which an alarm fires. It must be longer than
   * `calls.visibilityTimeout`, by which one crashed invocation delays a message.
   * @default - 1 minute beyond calls.visibilityTimeout
   */
  readonly intakeDelay?: Duration;
  /**
   * Number of errors of `agent-desk` in five minutes above which an alarm fires. Malformed commands of callers count
   * too, so a few errors are normal.
   * @default 5
   */
  readonly deskErrors?: number;
  /**
   * Number of messages in the dead-letter queue above which an alarm fires. Each expired call stays there for 14 days, so
   * raise the number if calls expire in normal operation.
   * @default 0
   */
  readonly deadCalls?: number;
}

/**
 * `match-calls` begins no call in this time before its timeout, in seconds: `MARGIN` of
 * `crates/agent-queue/src/intake/batch.rs`.
 */
export const MATCH_MARGIN_S = 6;

/** The defaults and the ranges of {@link AgentSettings}. */
export const AGENTS = {
  order: setting.free<AgentOrder>('fifo'),
  dimensions: setting.free<Dimension[]>([
    { name: 'language', attribute: 'Languages', multiValued: true },
    { name: 'gender', attribute: 'Gender' },
  ]),
  contentionWindow: setting.integer(8, 1, 32, 'with more, the order has little effect'),
  callLease: setting.wholeSeconds(undefined, 1),
  answerWithin: setting.wholeSeconds(undefined, 1),
  sweepInterval: setting.free(Duration.minutes(1)),
} as const satisfies setting.Declarations<AgentSettings>;

/** The defaults and the ranges of {@link CallSettings}. */
export const CALLS = {
  maxWait: setting.wholeSeconds(Duration.minutes(5), 1),
  batchSize: setting.integer(10, 1, 10, "SQS's limit for a FIFO queue"),
  maxConcurrency: setting.integer(undefined, 2, 1_000, "Lambda's limit for SQS"),
  functionTimeout: setting.wholeSeconds(
    Duration.seconds(30),
    MATCH_MARGIN_S + 1,
    900,
    `match-calls begins no call in its last ${MATCH_MARGIN_S} s, and Lambda allows 900 s`,
  ),
  memorySize: setting.integer(256, 128, 10_240, "Lambda's limit"),
  visibilityTimeout: setting.wholeSeconds(undefined, 1, 43_200, "SQS's limit"),
  maxReceiveCount: setting.integer(16, 1, 1_000, "SQS's limit"),
} as const satisfies setting.Declarations<CallSettings>;

/** The defaults and the ranges of {@link AgentAlarmSettings}. */
export const ALARMS = {
  oldestPending: setting.wholeSeconds(undefined, 1),
  intakeDelay: setting.wholeSeconds(undefined, 1),
  deskErrors: setting.integer(5, 0, 1_000_000),
  deadCalls: setting.integer(0, 0, 1_000_000),
} as const satisfies setting.Declarations<AgentAlarmSettings>;

/** All settings of an agents' queue, with the defaults filled in. */
export interface AgentQueueSettings {
  readonly agents: setting.Resolved<AgentSettings, typeof AGENTS>;
  readonly calls: setting.RequiredExcept<CallSettings, 'maxConcurrency'>;
  readonly alarms: Required<AgentAlarmSettings>;
}

/** The settings of an agents' queue as an app gives them. */
export interface PartialAgentQueueSettings {
  /**
   * Settings of agents and of their assignment.
   * @default - the defaults of each setting
   */
  readonly agents?: AgentSettings;
  /**
   * Settings of the call queue and of pending calls.
   * @default - the defaults of each setting
   */
  readonly calls?: CallSettings;
  /**
   * Thresholds of the alarms.
   * @default - the defaults of each setting
   */
  readonly alarms?: AgentAlarmSettings;
}

/** Fills in the defaults. An explicit `undefined` counts as not given. */
export function resolveAgentSettings(given: PartialAgentQueueSettings): AgentQueueSettings {
  const known = { ...setting.defaultsOf(CALLS), ...definedOf(given.calls) };
  const calls = {
    visibilityTimeout: Duration.millis(VISIBILITY_FACTOR * known.functionTimeout.toMilliseconds()),
    ...known,
  };
  return {
    agents: { ...setting.defaultsOf(AGENTS), ...definedOf(given.agents) },
    calls,
    alarms: {
      ...setting.defaultsOf(ALARMS),
      oldestPending: Duration.seconds(
        Math.max(1, Math.floor(0.8 * calls.maxWait.toSeconds({ integral: false }))),
      ),
      intakeDelay: Duration.seconds(Math.ceil(calls.visibilityTimeout.toSeconds({ integral: false })) + 60),
      ...definedOf(given.alarms),
    },
  };
}
