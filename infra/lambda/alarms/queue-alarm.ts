import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Stack } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, type IMetric, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import type { Construct } from 'constructs';
import { PACKAGE_ROOT } from '../artifacts';

const { homepage }: { homepage?: string } = JSON.parse(
  readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8'),
);

/** Pages of `docs/how-to` with the sections to which alarms refer. A test compares them with the pages. */
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
 * Where to read a section of the runbook: its address, so that an email has a link.
 * @param home the home page in package.json, which only a released package has; without it, the path in the sources
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

/** Command line of `freshq` for the stack of a construct. */
export function freshq(scope: Construct, verb: string): string {
  return `freshq ${verb} --stack ${Stack.of(scope).stackName}`;
}

export interface QueueAlarmProps {
  /** Metric that the alarm evaluates once a period. */
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
   * Number of the newest periods whose data may still be under way. The alarm evaluates them in addition to {@link periods}.
   * `FILL` needs them: it also fills the newest, late data points, which would keep an alarm on consecutive periods in
   * OK (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/using-metric-math.html).
   * @default 0
   */
  readonly late?: number;
  /** Text that explains the alarm. A sentence that begins with `First` tells the first action. */
  readonly says: string;
  /** Section of the runbook. */
  readonly section: keyof typeof RUNBOOK;
}

/** An alarm of a queue. Its description has the first action and the section of the runbook. */
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
      // Without a full stop, which programs would take for a part of the address.
      alarmDescription: `${says} More: ${runbookPlace(section, homepage)}`,
    });
  }
}
