import { Duration } from 'aws-cdk-lib';
import type { AGENT_QUEUE } from '../contract/agents';
import { LONGEST_TIMEOUT_S } from '../shared/ranges';
import * as setting from '../shared/setting';
import { VISIBILITY_FACTOR } from '../shared/visibility';

/** Which matching agent is assigned: the one queued longest (`fifo`) or most recently (`lifo`). */
export type AgentOrder = (typeof AGENT_QUEUE.orders)[number];

/** A property that calls request and agents provide, for example a language. */
export interface Dimension {
  /** Name of the dimension in calls and commands, for example `language`. */
  readonly name: string;
  /** Attribute of the agent's item that stores the values, for example `Languages`. */
  readonly attribute: string;
  /**
   * Whether an agent can have multiple values for this dimension. The agent joins one queue per combination of its
   * values, for example 6 queues with 3 languages and 2 genders. The limit is 95 queues.
   * @default false
   */
  readonly multiValued?: boolean;
}

/** Settings for agents and their assignment. */
export interface AgentSettings {
  /**
   * Which matching agent is assigned: the one queued longest (`fifo`) or most recently (`lifo`).
   * @default fifo
   */
  readonly order?: AgentOrder;
  /**
   * Dimensions that calls can request: 1 to 5. While agents are registered, you can't add, remove or reorder
   * dimensions, because queue names consist of dimension values. You can make a single-valued dimension multi-valued.
   * @default - language (`Languages`, multi-valued) and gender (`Gender`)
   */
  readonly dimensions?: Dimension[];
  /**
   * Maximum number of agents at the front of a queue among which a call chooses at random after a transaction conflict:
   * 1 to 32. Without conflicts, each call gets the first agent. With 1, the order is always strict, but the rate is
   * lower because calls with the same criteria are assigned one after another.
   * @default 8
   */
  readonly contentionWindow?: number;
  /**
   * Duration of a call lease, counted from the assignment or the most recent `extend`. When the lease expires, the
   * sweep makes the agent available but doesn't queue it.
   * @default - no limit: only `finish` ends a call
   */
  readonly callLease?: Duration;
  /**
   * Time within which an agent must answer an assignment with the `extend` command. Otherwise, up to
   * {@link sweepInterval} later, the sweep makes the agent available without queueing it and returns the call to its
   * original position. The call's next assignment has the next number. If the call was sent more than `calls.maxWait`
   * ago, the sweep moves it to the dead-letter queue instead.
   * @default - assignments don't require an answer
   */
  readonly answerWithin?: Duration;
  /**
   * Interval at which `sweep-agents` checks for expired calls, expired call leases and unpublished assignments, in
   * whole minutes.
   * @default 1 minute
   */
  readonly sweepInterval?: Duration;
}

/** Settings for the call queue and pending calls. */
export interface CallSettings {
  /**
   * Time after which a pending call expires and moves to the dead-letter queue. The sweep detects expired calls, so the
   * move can happen up to `agents.sweepInterval` later.
   * @default 5 minutes
   */
  readonly maxWait?: Duration;
  /**
   * Maximum number of messages per invocation of `match-calls`: 1 to 10, the SQS limit for a FIFO queue. Lambda doesn't
   * support a batching window for FIFO queues.
   * @default 10
   */
  readonly batchSize?: number;
  /**
   * Maximum number of concurrent invocations of `match-calls`: 2 to 1,000. Whatever the value, each message group (set
   * of criteria) has only one invocation at a time. Each queue of agents allows a maximum of 500 matches/s, because of
   * DynamoDB's write limit per partition. Near this limit, more concurrent invocations make fewer matches.
   * @default - as many as there are message groups
   */
  readonly maxConcurrency?: number;
  /**
   * Timeout of `match-calls`: 7 to 900 s. The function doesn't start processing a call in its last 6 s. If an
   * invocation crashes, the message groups in its batch are delayed by six times the timeout.
   * @default 30 seconds
   */
  readonly functionTimeout?: Duration;
  /**
   * Memory of `match-calls`, in MiB. Lambda allocates CPU power in proportion to memory.
   * @default 256
   */
  readonly memorySize?: number;
  /**
   * A setting of the previous release, without effect: SQS hides a received message for as long as AWS recommends.
   * @default - six times functionTimeout
   */
  readonly visibilityTimeout?: Duration;
  /**
   * Maximum number of attempts before SQS moves a message to the dead-letter queue. Until then, the message delays
   * later messages in its group, because SQS preserves their order. SQS redelivers a failed message after 2 seconds;
   * from the sixth attempt on, after up to 30 seconds. 16 attempts take about four minutes.
   * @default 16
   */
  readonly maxReceiveCount?: number;
}

/** Alarm thresholds for the agents' queue. */
export interface AgentAlarmSettings {
  /**
   * Age of the oldest pending call, in whole seconds, above which an alarm fires, because calls are about to expire.
   * @default - 80 % of calls.maxWait
   */
  readonly oldestPending?: Duration;
  /**
   * Age of the oldest message in the call queue, in whole seconds, above which an alarm fires. One crashed invocation
   * delays a message by six times `calls.functionTimeout`, which the value must exceed.
   * @default - 1 minute beyond six times calls.functionTimeout
   */
  readonly intakeDelay?: Duration;
  /**
   * Number of `agent-desk` errors in five minutes above which an alarm fires. Malformed commands from callers also
   * count, so a few errors are normal.
   * @default 5
   */
  readonly deskErrors?: number;
  /**
   * Number of messages in the dead-letter queue above which an alarm fires. Each expired call is kept there for 14
   * days, so raise this number if calls expire in normal operation.
   * @default 0
   */
  readonly deadCalls?: number;
}

/**
 * Time before the timeout of `match-calls` in which it doesn't start processing a call, in seconds. Matches `MARGIN`
 * in `crates/agent-queue/src/intake/batch.rs`.
 */
export const MATCH_MARGIN_S = 6;

/** Defaults and ranges of {@link AgentSettings}. */
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

/** Defaults and ranges of {@link CallSettings}. */
export const CALLS = {
  maxWait: setting.wholeSeconds(Duration.minutes(5), 1),
  batchSize: setting.integer(10, 1, 10, "SQS's limit for a FIFO queue"),
  maxConcurrency: setting.integer(undefined, 2, 1_000, "Lambda's limit for SQS"),
  functionTimeout: setting.wholeSeconds(
    Duration.seconds(30),
    MATCH_MARGIN_S + 1,
    LONGEST_TIMEOUT_S,
    `match-calls begins no call in its last ${MATCH_MARGIN_S} s, and ${LONGEST_TIMEOUT_S} s is the maximum timeout of a function`,
  ),
  memorySize: setting.integer(256, 128, 10_240, "Lambda's limit"),
  visibilityTimeout: setting.former(undefined, 'it is six times functionTimeout'),
  maxReceiveCount: setting.integer(16, 1, 1_000, "SQS's limit"),
} as const satisfies setting.Declarations<CallSettings>;

/** Defaults and ranges of {@link AgentAlarmSettings}. */
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

/** Settings of an agents' queue as specified by an app. */
export interface PartialAgentQueueSettings {
  /**
   * Settings for agents and their assignment.
   * @default - the defaults of each setting
   */
  readonly agents?: AgentSettings;
  /**
   * Settings for the call queue and pending calls.
   * @default - the defaults of each setting
   */
  readonly calls?: CallSettings;
  /**
   * Alarm thresholds.
   * @default - the defaults of each setting
   */
  readonly alarms?: AgentAlarmSettings;
}

/** Fills in the defaults. An explicit `undefined` is treated as omitted. */
export function resolveAgentSettings(given: PartialAgentQueueSettings): AgentQueueSettings {
  const known = setting.withDefaults(CALLS, given.calls);
  const calls = {
    visibilityTimeout: Duration.millis(VISIBILITY_FACTOR * known.functionTimeout.toMilliseconds()),
    ...known,
  };
  return {
    agents: setting.withDefaults(AGENTS, given.agents),
    calls,
    alarms: {
      oldestPending: Duration.seconds(
        Math.max(1, Math.floor(0.8 * calls.maxWait.toSeconds({ integral: false }))),
      ),
      intakeDelay: Duration.seconds(Math.ceil(calls.visibilityTimeout.toSeconds({ integral: false })) + 60),
      ...setting.withDefaults(ALARMS, given.alarms),
    },
  };
}
