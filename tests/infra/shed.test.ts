import { Stack } from 'aws-cdk-lib';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { ENVIRONMENT_NAMES, type EnvironmentName } from '../../infra/environments/list';
import { LifoQueueStack } from '../../infra/stacks/lifo-queue-stack';
import { LifoQueue } from '../../infra/tasks/lifo-queue';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { environment, newApp, Synthesized } from './synthesis';

const dev = Synthesized.environment('dev');
const QUEUE = 'shed-tasks';

function keeping(name: EnvironmentName, keepShedTasks: boolean): Synthesized {
  const changed = { ...environment(name), keepShedTasks };
  return new Synthesized(new LifoQueueStack(newApp(), { environment: changed }));
}

/** The queue for shed tasks that the stack itself creates. */
function shedQueues(synthesized: Synthesized) {
  const path = `${synthesized.stack.node.path}/${QUEUE}/Resource`;
  return synthesized.all('AWS::SQS::Queue').filter(({ Metadata }) => Metadata?.['aws:cdk:path'] === path);
}

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

  test('is read from its beginning, with many retries, and a bad record blocks no other', () => {
    expect(dev.readable(mapping.Properties.EventSourceArn)).toBe('task-table/table.StreamArn');
    expect(dev.readable(mapping.Properties.FunctionName)).toBe('count-shed/function');
    expect(dev.readable(mapping.Properties.DestinationConfig.OnFailure.Destination)).toBe(
      'count-shed/failures.Arn',
    );
    expect(mapping.Properties).toMatchObject({
      StartingPosition: 'TRIM_HORIZON',
      BatchSize: 100,
      MaximumBatchingWindowInSeconds: 10,
      MaximumRetryAttempts: 25,
      MaximumRecordAgeInSeconds: 6 * 60 * 60,
      BisectBatchOnFunctionError: true,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    });
  });

  test('waits for the policy that lets count-shed read it', () => {
    const dependencies = mapping.DependsOn?.map((logicalId) => dev.readable({ Ref: logicalId }));
    expect(dependencies).toContain('count-shed/role/DefaultPolicy');
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

describe.each(ENVIRONMENT_NAMES)('the shed tasks of %s', (name) => {
  test('are kept, as the environment says', () => {
    expect(environment(name).keepShedTasks).toBe(true);
    const synthesized = Synthesized.environment(name);
    expect(synthesized.outputs).toHaveProperty('ShedTasksQueueUrl');
    expect(shedQueues(synthesized)).toHaveLength(1);
  });

  test('are in a queue of their own where they are kept', () => {
    const synthesized = keeping(name, true);
    const [queue] = shedQueues(synthesized);
    expect(queue?.Properties).toMatchObject({
      SqsManagedSseEnabled: true,
      MessageRetentionPeriod: 14 * 24 * 60 * 60,
    });
    expect(queue?.DeletionPolicy).toBe(name === 'dev' ? 'Delete' : 'RetainExceptOnCreate');
    const policies = synthesized
      .all('AWS::SQS::QueuePolicy')
      .filter(({ Properties }) =>
        Properties.Queues.some((each: unknown) => synthesized.readable(each) === QUEUE),
      );
    expect(policies.flatMap((policy) => synthesized.statements(policy))).toEqual([
      {
        effect: 'Deny',
        actions: ['sqs:*'],
        resources: [`${QUEUE}.Arn`],
        principal: { AWS: '*' },
        conditions: { Bool: { 'aws:SecureTransport': 'false' } },
      },
    ]);
    expect(synthesized.readable(synthesized.fn('count-shed').Environment.Variables.SHED_QUEUE_URL)).toBe(
      QUEUE,
    );
    const output = synthesized.outputs.ShedTasksQueueUrl as { Value: unknown };
    expect(synthesized.readable(output.Value)).toBe(QUEUE);
  });

  test('are counted only, where they are not kept', () => {
    const synthesized = keeping(name, false);
    expect(synthesized.outputs).not.toHaveProperty('ShedTasksQueueUrl');
    expect(shedQueues(synthesized)).toEqual([]);
    expect(synthesized.fn('count-shed').Environment.Variables).not.toHaveProperty('SHED_QUEUE_URL');
    const sends = synthesized
      .policy('count-shed/role')
      .filter(({ actions }) => actions.includes('sqs:SendMessage'));
    expect(sends.map(({ resources }) => resources)).toEqual([['count-shed/failures.Arn']]);
  });
});
