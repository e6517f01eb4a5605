import { Duration } from 'aws-cdk-lib';
import type { AGENT_QUEUE } from '../contract/agents';
import { definedOf } from '../lambda/defined';
import * as setting from '../lambda/setting';
import { VISIBILITY_FACTOR } from '../lambda/visibility';

/** Which of the matching agents is assigned: the one queued longest (`fifo`), or most recently (`lifo`). */
export type AgentOrder = (typeof AGENT_QUEUE.orders)[number];

/** Something that calls ask for and agents have. */
export interface Dimension {
  /** Its name in calls and commands, for example `language`. */
  readonly name: string;
  /** The attribute of the agent's item that holds it, for example `Languages`. */
  readonly attribute: string;
  /**
   * Whether an agent may have several values of it. An agent waits in one queue for each combination of values: the
   * numbers of values in all dimensions, multiplied, must be at most 95.
   * @default false
   */
  readonly multiValued?: boolean;
}

/** What holds for every agent. */
export interface AgentSettings {
  /**
   * Which of the matching agents is assigned: `fifo`, the one queued longest, or `lifo`, the one queued most recently.
   * @default fifo
   */
  readonly order?: AgentOrder;
  /**
   * What calls may ask for: 1 to 5 dimensions. Dimensions cannot be added, removed or reordered while agents are
   * registered: their queues are named after the values. A single-valued dimension may become multi-valued.
   * @default - language (`Languages`, multi-valued) and gender (`Gender`)
   */
  readonly dimensions?: readonly Dimension[];
  /**
   * Among how many of the first agents of a queue a call chooses at most, while transactions on the same agents
   * conflict: 1 to 32. Without conflicts every call gets the first agent. 1 is strict order at all times, with a
   * lower rate: calls of the same criteria are then assigned one after the other.
   * @default 8
   */
  readonly contentionWindow?: number;
  /**
   * How long an agent attends a call, from its assignment or its last `extend`: after it the sweep makes the agent
   * available again, not queued.
   * @default - no limit: only `finish` ends a call
   */
  readonly callLease?: Duration;
  /**
   * How long an agent has to answer an assignment, by the command `extend`. After it the sweep makes the agent
   * available again, not queued, and returns the call to its place in the line: it is assigned again under the next
   * number. The sweep looks for these, so it may take {@link sweepInterval} longer. A call that has then waited for
   * longer than `calls.maxWait` since it was sent goes to the dead-letter queue.
   * @default - an assignment needs no answer
   */
  readonly answerWithin?: Duration;
  /**
   * How often `sweep-agents` looks for expired calls, expired leases and assignments that were
   * not published: whole minutes.
   * @default 1 minute
   */
  readonly sweepInterval?: Duration;
}

/** How calls come in and wait. */
export interface CallSettings {
  /**
   * How long a call waits for an agent; then it goes to the dead-letter queue. The sweep looks for these, so it may
   * take `agents.sweepInterval` longer.
   * @default 5 minutes
   */
  readonly maxWait?: Duration;
  /**
   * The most messages of one invocation of `match-calls`: 1 to 10, SQS's limit for a FIFO queue. A batch window does
   * not exist there.
   * @default 10
   */
  readonly batchSize?: number;
  /**
   * The most invocations of `match-calls` at once: 2 to 1,000. Each message group, that is each set of criteria, is
   * served by one at a time anyway. Up to 32 at once make more matches a second in every benchmark.
   * @default - as many as there are message groups
   */
  readonly maxConcurrency?: number;
  /**
   * Timeout of `match-calls`: 7 to 900 s. It begins no call in the last 6 s.
   * @default 30 seconds
   */
  readonly functionTimeout?: Duration;
  /**
   * Memory of `match-calls`, MiB. Lambda gives processor time in proportion.
   * @default 256
   */
  readonly memorySize?: number;
  /**
   * How long SQS hides a message that is being worked on; its message group waits as long when an attempt fails.
   * At least six times {@link functionTimeout}, as AWS advises.
   * @default - six times functionTimeout
   */
  readonly visibilityTimeout?: Duration;
  /**
   * Attempts before SQS moves a message to the dead-letter queue. Until then it holds up the messages of its group,
   * since they must stay in order. A message that fails is redelivered after 2 seconds, from the sixth attempt on after
   * up to 30 seconds: 16 attempts take about four minutes.
   * @default 16
   */
  readonly maxReceiveCount?: number;
}

/** When the alarms of the agents' queue ring. */
export interface AgentAlarmSettings {
  /**
   * The age of the oldest pending call, in whole seconds, above which an alarm rings: from then on calls are about to
   * expire.
   * @default - 80 % of calls.maxWait
   */
  readonly oldestWaiting?: Duration;
  /**
   * The age of the oldest message in the call queue, in whole seconds, above which an alarm rings: longer than one
   * failed attempt delays it.
   * @default - 1 minute beyond calls.visibilityTimeout
   */
  readonly intakeDelay?: Duration;
  /**
   * Errors of `agent-desk` in five minutes above which an alarm rings. Malformed commands of callers count, so a few
   * are normal.
   * @default 5
   */
  readonly deskErrors?: number;
}

/** How long before its timeout `match-calls` begins its last call: `MARGIN` of the intake, `crates/agent-queue/src/intake/batch.rs`. */
export const MATCH_MARGIN_S = 6;

/** The defaults and the ranges of {@link AgentSettings}. */
export const AGENTS = {
  order: setting.free<AgentOrder>('fifo'),
  dimensions: setting.free<readonly Dimension[]>([
    { name: 'language', attribute: 'Languages', multiValued: true },
    { name: 'gender', attribute: 'Gender' },
  ]),
  contentionWindow: setting.integer(8, 1, 32, 'beyond it the order means little'),
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
  oldestWaiting: setting.wholeSeconds(undefined, 1),
  intakeDelay: setting.wholeSeconds(undefined, 1),
  deskErrors: setting.integer(5, 0, 1_000_000),
} as const satisfies setting.Declarations<AgentAlarmSettings>;

/** `T`, where all but `K` is known. */
type RequiredExcept<T, K extends keyof T> = Required<Omit<T, K>> & Pick<T, K>;

/** Every setting of an agents' queue, defaults filled in. */
export interface AgentQueueSettings {
  readonly agents: RequiredExcept<AgentSettings, 'answerWithin' | 'callLease'>;
  readonly calls: RequiredExcept<CallSettings, 'maxConcurrency'>;
  readonly alarms: Required<AgentAlarmSettings>;
}

/** The parts of an agents' queue's settings as a user gives them. */
export interface PartialAgentQueueSettings {
  /**
   * How agents are ordered and chosen.
   * @default - the defaults of each setting
   */
  readonly agents?: AgentSettings;
  /**
   * How calls arrive and wait.
   * @default - the defaults of each setting
   */
  readonly calls?: CallSettings;
  /**
   * When the alarms ring.
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
      oldestWaiting: Duration.seconds(
        Math.max(1, Math.floor(0.8 * calls.maxWait.toSeconds({ integral: false }))),
      ),
      intakeDelay: Duration.seconds(Math.ceil(calls.visibilityTimeout.toSeconds({ integral: false })) + 60),
      ...definedOf(given.alarms),
    },
  };
}
