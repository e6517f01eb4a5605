import { Stack } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, type IMetric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';

/** The sections of `docs/how-to/operate.md` that alarms send a person to; a test holds the two together. */
export const RUNBOOK = {
  paused: 'The queue is paused',
  breakerOpen: 'The circuit breaker is open',
  stalled: 'No progress',
  failing: 'Tasks fail',
  taskErrors: 'A function of the task queue fails',
  oldestPending: 'Tasks are about to expire',
  sweepMissed: 'The sweep is missing',
  failures: 'Messages in a failure queue',
  streamDelay: 'The stream reader lags',
  recursion: 'Lambda stopped the tail call',
  ingestDeadLetters: 'Messages in the ingest dead-letter queue',
  ingestDelay: 'Ingest messages are not written',
  deadCalls: 'Calls in the dead-letter queue',
  oldestWaiting: 'Calls wait for too long',
  intakeDelay: 'Calls are not taken in',
  agentSweepMissed: "The agents' sweep is missing",
  unpublished: 'Assignments are not published',
  functionErrors: "A function of the agents' queue fails",
} as const;

/** A command of `freshq` for the stack of a construct, as an operator types it. */
export function freshq(scope: Construct, verb: string): string {
  return `freshq ${verb} --stack ${Stack.of(scope).stackName}`;
}

/** Props of {@link QueueAlarm}. */
export interface QueueAlarmProps {
  /** What is watched, once a period. */
  readonly metric: IMetric;
  /** When it rings. */
  readonly rings: { readonly above: number } | { readonly below: number };
  /**
   * What a period without data means.
   * @default TreatMissingData.NOT_BREACHING
   */
  readonly missing?: TreatMissingData;
  /**
   * How many periods in a row it takes.
   * @default 1
   */
  readonly periods?: number;
  /** What it means, and what to do first. */
  readonly says: string;
  /** The section of the runbook. */
  readonly section: keyof typeof RUNBOOK;
}

/** An alarm of a queue: its text says what to do first and where to read on. */
export class QueueAlarm extends Alarm {
  constructor(scope: Construct, id: string, props: QueueAlarmProps) {
    const { metric, rings, missing, periods, says, section } = props;
    super(scope, `${id}-alarm`, {
      metric,
      ...('above' in rings
        ? { threshold: rings.above, comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD }
        : { threshold: rings.below, comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD }),
      evaluationPeriods: periods ?? 1,
      treatMissingData: missing ?? TreatMissingData.NOT_BREACHING,
      alarmDescription: `${says} More: docs/how-to/operate.md, "${RUNBOOK[section]}".`,
    });
  }
}
