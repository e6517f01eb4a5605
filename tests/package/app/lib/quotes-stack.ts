import { Duration, Stack } from 'aws-cdk-lib';
import { Code, Function, Runtime } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { AgentQueue, type ITaskRunner, LifoQueue, type ProcessingSettings, TaskRunner } from 'freshq';

const processing: ProcessingSettings = { ratePerSecond: 20, taskTimeout: Duration.seconds(10) };

/** A stack with both queues. */
export class QuotesStack extends Stack {
  readonly queue: LifoQueue;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    const runner: ITaskRunner = TaskRunner.http({ url: 'https://quotes.example.com/refresh' });
    this.queue = new LifoQueue(this, 'quotes', { runner, processing, ingest: {} });
    this.queue.exportOutputs();
    const agents = new AgentQueue(this, 'agents', { agents: { order: 'lifo' } });
    agents.exportOutputs();

    const producer = new Function(this, 'producer', {
      runtime: Runtime.NODEJS_22_X,
      handler: 'index.handler',
      code: Code.fromInline('exports.handler = async () => {}'),
    });
    this.queue.grantCreate(producer);
    this.queue.grantSend(producer);
    agents.grantDesk(producer);
  }
}
