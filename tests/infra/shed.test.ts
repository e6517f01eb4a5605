import { Stack } from 'aws-cdk-lib';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { LifoQueue } from '../../infra/tasks/lifo-queue';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { newApp, Synthesized } from './synthesis';

const dev = Synthesized.environment('dev');
describe("count-shed's stream", () => {
  const mapping = dev.at('count-shed/stream');

  test('matches unfinished tasks that the TTL deleted and replaced expired states, but not canceled tasks', () => {
    const { Filters } = mapping.Properties.FilterCriteria;
    expect(Filters).toHaveLength(2);
    expect(JSON.parse(Filters[1].Pattern)).toEqual({
      eventName: ['MODIFY'],
      dynamodb: { NewImage: { revived: { S: [{ exists: true }] } } },
    });
    expect(JSON.parse(Filters[0].Pattern)).toEqual({
      eventName: ['REMOVE'],
      userIdentity: { type: ['Service'], principalId: ['dynamodb.amazonaws.com'] },
      dynamodb: { OldImage: { taskStatus: { S: [{ prefix: 'PENDING' }, { prefix: 'TAKEN' }] } } },
    });
  });

  test("does not use the batch size of trigger's stream", () => {
    const { Properties } = Synthesized.queue({ stream: { batchSize: 1 } }).at('count-shed/stream');
    expect(Properties.BatchSize).toBe(100);
  });
});

describe('shed tasks', () => {
  test('are not sent to a queue by default', () => {
    const { Variables } = Synthesized.queue().fn('count-shed').Environment;
    expect(Object.keys(Variables)).toEqual(['TASK_TABLE_NAME']);
  });

  test('cannot be sent to a queue in another region', () => {
    const stack = new Stack(newApp(), 'test', { env: { region: 'eu-west-1' } });
    const queueIn = (region: string) => () => {
      const shedTasksTo = Queue.fromQueueArn(stack, region, `arn:aws:sqs:${region}:123456789012:shed`);
      new LifoQueue(stack, `queue-${region}`, { runner: TaskRunner.simulated(), shedTasksTo });
    };
    expect(queueIn('eu-west-1')).not.toThrow();
    expect(queueIn('us-east-1')).toThrow(
      'shedTasksTo: count-shed and ingest-tasks in eu-west-1 cannot send to a queue in us-east-1. Remedy: use a queue in eu-west-1.',
    );
  });

  test('are sent to the configured queue', () => {
    const hooked = Synthesized.of((stack) => ({ shedTasksTo: new Queue(stack, 'mine') }));
    expect(hooked.readable(hooked.fn('count-shed').Environment.Variables.SHED_QUEUE_URL)).toBe('mine');
  });

  test('cannot be sent to a FIFO queue', () => {
    const stack = new Stack(newApp(), 'test');
    const shedTasksTo = new Queue(stack, 'mine', { fifo: true });
    expect(() => new LifoQueue(stack, 'queue', { runner: TaskRunner.simulated(), shedTasksTo })).toThrow(
      /shedTasksTo: shed tasks have no message group.*Remedy: use a standard queue/,
    );
  });
});

test('an environment that does not keep shed tasks only counts them', () => {
  const synthesized = Synthesized.environment('prod', { keepShedTasks: false });
  expect(synthesized.outputs).not.toHaveProperty('ShedTasksQueueUrl');
  const queues = synthesized.all('AWS::SQS::Queue').map(({ Metadata }) => Metadata?.['aws:cdk:path']);
  expect(queues).not.toContain('LifoQueue-prod/shed-tasks/Resource');
  expect(synthesized.fn('count-shed').Environment.Variables).not.toHaveProperty('SHED_QUEUE_URL');
  const sends = synthesized
    .policy('count-shed/role')
    .filter(({ actions }) => actions.includes('sqs:SendMessage'));
  expect(sends.map(({ resources }) => resources)).toEqual([['count-shed/failures.Arn']]);
});
