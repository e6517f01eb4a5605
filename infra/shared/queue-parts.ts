import type { Alarm, Dashboard } from 'aws-cdk-lib/aws-cloudwatch';
import type { Grant, IGrantable } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { IConstruct } from 'constructs';

/** One of a queue's functions. */
export interface IQueueFunction extends IConstruct {
  /** The function: arm64 on `provided.al2023`. */
  readonly function: LambdaFunction;
  /** Log group of the function. */
  readonly logGroup: LogGroup;
  /** Queue for invocations that failed after all retries, including stream batches. */
  readonly failures: Queue;
}

/** An SQS queue that a function reads. */
export interface IQueueIntake extends IConstruct {
  /** The queue. Any service that can send to an SQS queue can be a producer; see `docs/how-to/producers.md`. */
  readonly queue: Queue;
  /** The dead-letter queue for invalid and undeliverable messages. Only {@link queue} can use it. */
  readonly deadLetters: Queue;
  /** Lets a principal send messages to the queue, and nothing else. */
  grantSend(grantee: IGrantable): Grant;
}

/** Alarms, dashboard and saved queries of a queue. */
export interface IQueueObservability extends IConstruct {
  /** All alarms, for example to add your own actions. */
  readonly all: Alarm[];
  /** The dashboard, unless it is disabled. */
  readonly dashboard?: Dashboard;
  /** URL of the dashboard in the console. */
  readonly dashboardUrl?: string;
}
