import { join } from 'node:path';
import { CfnOutput, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { HttpAuth, LifoQueue, TaskRunner } from 'freshq';

/** Props of {@link QuotesStack}. */
export interface QuotesStackProps {
  /** URL of the system that refreshes quotes. It receives one POST request per task. */
  readonly quotesUrl: string;
}

/**
 * An example app with a queue. It refreshes price quotes, which are most useful while a user is looking at them. The
 * queue therefore refreshes the most recently requested quote first, and tasks expire after two minutes.
 */
export class QuotesStack extends Stack {
  constructor(scope: Construct, id: string, props: QuotesStackProps) {
    super(scope, id);

    const token = new Secret(this, 'quotes-token', {
      description: 'The complete value of the Authorization header, for example "Bearer …"',
    });
    const queue = new LifoQueue(this, 'quotes', {
      runner: TaskRunner.http({ url: props.quotesUrl, auth: HttpAuth.header({ secret: token }) }),
      tasks: { defaultTtl: Duration.minutes(2), maxAttempts: 2 },
      processing: { concurrency: 25, taskTimeout: Duration.seconds(10) },
      removalPolicy: RemovalPolicy.DESTROY,
      deletionProtection: false,
      expectedTasksPerSecond: 50,
    });

    const producer = new LambdaFunction(this, 'producer', {
      description: 'Creates a task per quote to refresh',
      runtime: Runtime.NODEJS_22_X,
      handler: 'index.handler',
      code: Code.fromAsset(join(__dirname, 'producer')),
      environment: { CREATE_TASKS_FUNCTION: queue.createTasks.function.functionName },
      timeout: Duration.seconds(15),
    });
    queue.grantCreate(producer);

    new CfnOutput(this, 'ProducerFunctionName', { value: producer.functionName });
    queue.exportOutputs();
  }
}
