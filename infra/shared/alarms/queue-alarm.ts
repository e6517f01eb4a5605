import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Stack } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, type IMetric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import { PACKAGE_ROOT } from '../artifacts';

const { homepage }: { homepage?: string } = JSON.parse(
  readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8'),
);

/** Pages in `docs/how-to` with the sections to which alarms refer. A test compares this list with the pages. */
export const RUNBOOK = {
  paused: 'runbook-tasks.md, "The queue is paused"',
  breakerOpen: 'runbook-tasks.md, "The circuit breaker is open"',
  stalled: 'runbook-tasks.md, "No progress"',
  failing: 'runbook-tasks.md, "Tasks fail"',
  taskErrors: 'runbook-tasks.md, "A function of the task queue fails"',
  oldestPending: 'runbook-tasks.md, "Tasks are about to expire"',
  sweepMissed: 'runbook-tasks.md, "The sweep is missing"',
  failures: 'runbook-tasks.md, "Messages in a failure queue"',
  streamDelay: 'runbook-tasks.md, "The stream reader lags"',
  recursion: 'runbook-tasks.md, "Lambda stopped the tail call"',
  ingestDeadLetters: 'runbook-tasks.md, "Messages in the ingest dead-letter queue"',
  ingestDelay: 'runbook-tasks.md, "Ingest messages are not written"',
  notAdmitted: 'runbook-tasks.md, "A storm is not admitted"',
  deadCalls: 'runbook-agents.md, "Calls in the dead-letter queue"',
  pendingCalls: 'runbook-agents.md, "Calls are pending for too long"',
  intakeDelay: 'runbook-agents.md, "Calls stay in the call queue"',
  agentSweepMissed: 'runbook-agents.md, "The agents\' sweep is missing"',
  unpublished: 'runbook-agents.md, "Assignments are not published"',
  agentFailures: 'runbook-agents.md, "Messages in a failure queue"',
  functionErrors: 'runbook-agents.md, "A function of the agents\' queue fails"',
} as const;

/**
 * Returns the location of a runbook section. It is a URL if possible, so that alarm emails contain a link.
 * @param home home page in package.json, which only a released package has; if undefined, returns the path in the sources
 */
export function runbookPlace(section: keyof typeof RUNBOOK, home?: string): string {
  const path = `docs/how-to/${RUNBOOK[section]}`;
  if (home === undefined) return `${path}.`;
  const [file, title = ''] = path.split(/, "|"$/);
  const anchor = title
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-');
  return `${home.replace(/#.*$/, '')}/blob/HEAD/${file}#${anchor}`;
}

/** Returns the `freshq` command line for a construct's stack. */
export function freshq(scope: Construct, verb: string): string {
  return `freshq ${verb} --stack ${Stack.of(scope).stackName}`;
}

export interface QueueAlarmProps {
  /** Metric that the alarm evaluates once per period. */
  readonly metric: IMetric;
  /** Threshold: the alarm fires above or below it. */
  readonly fires: { readonly above: number } | { readonly below: number };
  /**
   * Treatment of a period without data.
   * @default TreatMissingData.NOT_BREACHING
   */
  readonly missing?: TreatMissingData;
  /**
   * Number of periods that must breach the threshold.
   * @default 1
   */
  readonly periods?: number;
  /**
   * Number of most recent periods whose data can be late. The alarm evaluates them in addition to {@link periods}.
   * Required with `FILL`, which also fills late data points. Otherwise, an alarm on consecutive periods would stay in
   * the OK state (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html).
   * @default 0
   */
  readonly late?: number;
  /** Text that explains the alarm. A sentence that starts with `First` describes the first action. */
  readonly says: string;
  /** Runbook section. */
  readonly section: keyof typeof RUNBOOK;
}

/** An alarm of a queue. Its description contains the first action and the runbook section. */
export class QueueAlarm extends Alarm {
  constructor(scope: Construct, id: string, props: QueueAlarmProps) {
    const { metric, fires, missing, periods = 1, late = 0, says, section } = props;
    super(scope, `${id}-alarm`, {
      metric,
      ...('above' in fires
        ? { threshold: fires.above, comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD }
        : { threshold: fires.below, comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD }),
      evaluationPeriods: periods + late,
      datapointsToAlarm: late === 0 ? undefined : periods,
      treatMissingData: missing ?? TreatMissingData.NOT_BREACHING,
      // Omits the final period, because programs would interpret it as part of the URL.
      alarmDescription: `${says} More: ${runbookPlace(section, homepage)}`,
    });
  }
}
