import { Stack } from 'aws-cdk-lib';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { LifoQueue } from '../../infra/tasks/lifo-queue';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { newApp, Synthesized } from './synthesis';

const dev = Synthesized.environment('dev');
describe("count-shed's stream", () => {
  const mapping = dev.at('count-shed/stream');

  test('passes unfinished tasks that the TTL deleted and expired states that were replaced, but no cancelled tasks', () => {
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

  test('is not batched as the queue asks of trigger', () => {
    const { Properties } = Synthesized.queue({ stream: { batchSize: 1 } }).at('count-shed/stream');
    expect(Properties.BatchSize).toBe(100);
  });
});

describe('shed tasks', () => {
  test('go nowhere unless asked', () => {
    const { Variables } = Synthesized.queue().fn('count-shed').Environment;
    expect(Object.keys(Variables)).toEqual(['TASK_TABLE_NAME']);
  });

  test('go to the queue that is given', () => {
    const hooked = Synthesized.of((stack) => ({ shedTasksTo: new Queue(stack, 'mine') }));
    expect(hooked.readable(hooked.fn('count-shed').Environment.Variables.SHED_QUEUE_URL)).toBe('mine');
  });

  test('do not go to a FIFO queue', () => {
    const stack = new Stack(newApp(), 'test');
    const shedTasksTo = new Queue(stack, 'mine', { fifo: true });
    expect(() => new LifoQueue(stack, 'queue', { runner: TaskRunner.simulated(), shedTasksTo })).toThrow(
      /shedTasksTo: shed tasks have no message group.*Remedy: use a standard queue/,
    );
  });
});

test('the shed tasks of an environment are counted only, where they are not kept', () => {
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
