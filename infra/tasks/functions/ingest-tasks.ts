import { Duration } from 'aws-cdk-lib';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { RustFunction } from '../../shared/rust-function';
import type { TaskIngest } from '../ingest/task-ingest';
import { expiriesOf, type QueueSettings } from '../settings';
import { MOST_HELD, type ResolvedIngestSettings } from '../settings/ingest';
import { CONTROL_ITEM_ONLY, INGEST_ITEM_ONLY, TASKS_ONLY } from '../task-table';
import type { TaskWiring } from './task-wiring';

export interface IngestTasksProps extends TaskWiring {
  readonly ingest: ResolvedIngestSettings;
  readonly intake: TaskIngest;
  /**
   * The queue that receives each task that expired before it was written, as JSON.
   * @default - none; these tasks are only counted
   */
  readonly shedTasksTo?: IQueue;
}

/**
 * Writes messages from the ingest queue to the table as tasks. Its response lists exactly the messages that could not
 * be written, so SQS redelivers only those. Invalid tasks go to the dead-letter queue with the reason.
 */
export class IngestTasks extends RustFunction<'ingest-tasks'> {
  constructor(scope: Construct, id: string, props: IngestTasksProps) {
    const { table, settings, ingest, intake, shedTasksTo } = props;
    super(scope, id, {
      binary: 'ingest-tasks',
      description: 'Writes the messages of the ingest queue as tasks',
      environment: {
        TASK_TABLE_NAME: table.table.tableName,
        INGEST_QUEUE_URL: intake.queue.queueUrl,
        INGEST_DEAD_LETTER_QUEUE_URL: intake.deadLetters.queueUrl,
        ...(shedTasksTo && { SHED_QUEUE_URL: shedTasksTo.queueUrl }),
      },
      settings: ingestTasksSettings(settings, ingest),
      timeout: ingest.functionTimeout,
      memorySize: ingest.memorySize,
      reservedConcurrency: ingest.reservedConcurrency,
      logs: props.logs,
      // Only the ingest queue invokes this function, synchronously. SQS redelivers failed messages.
      async: { retryAttempts: 0, maxEventAge: Duration.minutes(1) },
    });
    // A newer state of a key updates the older state's item.
    this.allow(['dynamodb:PutItem', 'dynamodb:UpdateItem'], [table.table.tableArn], TASKS_ONLY);
    if (ingest.admission !== undefined) {
      this.allow(['dynamodb:UpdateItem'], [table.table.tableArn], INGEST_ITEM_ONLY);
      this.allow(['dynamodb:GetItem'], [table.table.tableArn], CONTROL_ITEM_ONLY);
    }
    if (shedTasksTo !== undefined) this.allowSendTo(shedTasksTo);
    intake._feed(this);
  }
}

export function ingestTasksSettings(settings: QueueSettings, ingest: ResolvedIngestSettings) {
  return {
    deadlineMargin: ingest.deadlineMargin,
    ingest: {
      create: expiriesOf(settings),
      visibility: { base: ingest.visibilityBase, max: ingest.visibilityMax },
      writeParallelism: ingest.writeParallelism,
      ...(ingest.admission && {
        admission: { factor: ingest.admission.factor, mostHeld: MOST_HELD[ingest.admission.prefer] },
      }),
    },
    traces: settings.traces,
  };
}
