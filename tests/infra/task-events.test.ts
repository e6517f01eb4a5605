import { Stack } from 'aws-cdk-lib';
import { EventBus, type IEventBus } from 'aws-cdk-lib/aws-events';
import { environmentProblems } from '../../infra/environments/rules';
import { LifoQueue } from '../../infra/tasks/lifo-queue';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { bothStacks, environment, newApp, Synthesized } from './synthesis';

const without = Synthesized.queue();
const withBus = Synthesized.of((stack) => ({ taskEventsTo: new EventBus(stack, 'ends') }));

/** Returns the patterns in count-shed's mapping that a queue without an event bus does not have. */
function added(synthesized: Synthesized): unknown[] {
  const patterns = (each: Synthesized): string[] =>
    each
      .at('count-shed/stream')
      .Properties.FilterCriteria.Filters.map(({ Pattern }: { Pattern: string }) => Pattern);
  return patterns(synthesized)
    .filter((pattern) => !patterns(without).includes(pattern))
    .map((pattern) => JSON.parse(pattern));
}

/** Whether a record matches a prefix pattern, by the rules of Lambda event filtering. */
function fits(pattern: unknown, record: unknown): boolean {
  if (Array.isArray(pattern)) {
    return pattern.some(({ prefix }) => typeof record === 'string' && record.startsWith(prefix));
  }
  return Object.entries(pattern as object).every(([name, inner]) =>
    fits(inner, (record as Record<string, unknown> | undefined)?.[name]),
  );
}

describe('with an event bus', () => {
  test('count-shed can publish to the configured bus', () => {
    expect(withBus.readable(withBus.fn('count-shed').Environment.Variables.EVENT_BUS_ARN)).toBe('ends.Arn');
    const publishing = withBus
      .policy('count-shed/role')
      .filter(({ actions }) => actions.some((action) => action.startsWith('events:')));
    expect(publishing).toEqual([{ effect: 'Allow', actions: ['events:PutEvents'], resources: ['ends.Arn'] }]);
  });

  test('count-shed reads finished tasks within a second and retries for hours while the bus is unavailable', () => {
    expect(withBus.at('count-shed/stream').Properties).toMatchObject({
      MaximumBatchingWindowInSeconds: 1,
      MaximumRetryAttempts: 10_000,
      MaximumRecordAgeInSeconds: 6 * 60 * 60,
    });
  });

  test.each([
    ['TAKEN', 'SUCCESS', true],
    ['TAKEN', 'FAILURE', true],
    ['PENDING', 'FAILURE', true],
    ['TAKEN#3', 'SUCCESS#3', true],
    ['PENDING', 'TAKEN', false],
    ['TAKEN', 'PENDING', false],
    ['FAILURE', 'PENDING', false],
    ['FAILURE', 'FAILURE', false],
    [undefined, 'SUCCESS', false],
    ['SUCCESS', undefined, false],
  ])('a change from %s to %s reaches count-shed: %s', (before, after, reaches) => {
    const image = (status: string | undefined) =>
      status === undefined ? undefined : { taskId: { S: 'order-1' }, taskStatus: { S: status } };
    const record = { dynamodb: { OldImage: image(before), NewImage: image(after) } };
    const [pattern, ...more] = added(withBus);
    expect(more).toEqual([]);
    expect(fits(pattern, record)).toBe(reaches);
  });
});

test('a queue without a bus has no event settings or permissions', () => {
  expect(Object.keys(without.fn('count-shed').Environment.Variables)).toEqual(['TASK_TABLE_NAME']);
  expect(without.at('count-shed/stream').Properties.MaximumBatchingWindowInSeconds).toBe(10);
  expect(JSON.stringify(without.masked())).not.toContain('events:PutEvents');
});

describe('an unsupported bus is rejected', () => {
  const queue = (bus: (stack: Stack) => IEventBus) => () => {
    const stack = new Stack(newApp(), 'test', { env: { region: 'eu-west-1' } });
    new LifoQueue(stack, 'queue', { runner: TaskRunner.simulated(), taskEventsTo: bus(stack) });
  };
  const named = (region: string) => (stack: Stack) =>
    EventBus.fromEventBusArn(stack, 'bus', `arn:aws:events:${region}:123456789012:event-bus/ends`);

  test('in another region', () => {
    expect(queue(named('eu-west-1'))).not.toThrow();
    expect(queue(named('us-east-1'))).toThrow(
      /taskEventsTo: count-shed in eu-west-1 cannot publish to a bus in us-east-1.*Remedy: use a bus in eu-west-1/,
    );
  });

  test('of a partner event source', () => {
    const partner = (stack: Stack) =>
      new EventBus(stack, 'bus', { eventSourceName: 'aws.partner/example.com/1' });
    expect(queue(partner)).toThrow(/taskEventsTo: the bus of the partner .*Remedy: use the default bus/);
  });
});

describe('taskEventBus of an environment', () => {
  test("can name a bus in the environment's account and region", () => {
    const changed = { ...environment('dev'), taskEventBus: 'default' };
    expect(environmentProblems(changed)).toEqual([]);
    const synthesized = new Synthesized(bothStacks(changed)[0]);
    const bus = synthesized.fn('count-shed').Environment.Variables.EVENT_BUS_ARN;
    expect(synthesized.readable(bus)).toBe(
      'arn:AWS::Partition:events:AWS::Region:AWS::AccountId:event-bus/default',
    );
  });

  test.each(['', 'arn:aws:events:eu-west-1:123456789012:event-bus/ends', 'aws.partner/example.com/1'])(
    'cannot be "%s"',
    (taskEventBus) => {
      expect(environmentProblems({ ...environment('dev'), taskEventBus })).toEqual([
        expect.objectContaining({
          setting: 'dev.taskEventBus',
          rule: expect.stringContaining(`"${taskEventBus}" is not the name of an event bus`),
        }),
      ]);
    },
  );
});
