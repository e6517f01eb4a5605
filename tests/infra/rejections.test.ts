import { Duration } from 'aws-cdk-lib';
import { InvalidConfiguration } from '../../infra/shared/problem';
import type { LifoQueueProps } from '../../infra/tasks/lifo-queue';
import { settingsProblems } from '../../infra/tasks/rules';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { type PartialQueueSettings, resolveSettings } from '../../infra/tasks/settings';
import { Synthesized } from './synthesis';

const { seconds, minutes, millis } = Duration;

function settingsRejected(settings: PartialQueueSettings): string[] {
  return settingsProblems(resolveSettings(settings)).map(({ setting }) => setting);
}

test('the defaults are accepted', () => {
  expect(settingsRejected({})).toEqual([]);
});

const codel = (target: Duration, interval: Duration) => ({ processing: { codel: { target, interval } } });

const REJECTED: [rule: string, settings: PartialQueueSettings, setting: string][] = [
  ['more failed tasks than all', { alarms: { failedShare: 1 } }, 'alarms.failedShare'],
  ['a share that is no number', { alarms: { failedShare: Number.NaN } }, 'alarms.failedShare'],
  [
    'breakers of groups without a breaker',
    { processing: { groups: { breaker: true }, breaker: { enabled: false } } },
    'processing.groups.breaker',
  ],
  [
    'turn + task timeout + margin > function timeout',
    { processing: { turn: seconds(201) } },
    'processing.functionTimeout',
  ],
  ['index lag as long as the turn', { processing: { turn: seconds(2) } }, 'processing.indexLag'],
  [
    'three heartbeats > processor lease',
    { processing: { heartbeat: seconds(7) } },
    'processing.processorLease',
  ],
  [
    'clock skew uses the lease up',
    { processing: { processorLease: millis(2_500), heartbeat: millis(500) } },
    'processing.processorLease',
  ],
  [
    'processor lease outlives the wait for the retry',
    { processing: { processorLease: seconds(61) } },
    'processing.processorLease',
  ],
  ['a window of milliseconds', { stream: { batchWindow: millis(500) } }, 'stream.batchWindow'],
  ['backoff upside down', { tasks: { retryBase: minutes(6) } }, 'tasks.retryMax'],
  ['default expiry beyond the longest', { tasks: { maxTtl: minutes(30) } }, 'tasks.maxTtl'],
  ['retention in fractions', { tasks: { successRetention: millis(1) } }, 'tasks.successRetention'],
  [
    'no direct writers without a longest expiry',
    { tasks: { allowDirectWrites: false } },
    'tasks.allowDirectWrites',
  ],
  ['a rate that is no number', { processing: { ratePerSecond: Number.NaN } }, 'processing.ratePerSecond'],
  [
    'a rate below one task an invocation',
    { processing: { ratePerSecond: 0.0009 } },
    'processing.ratePerSecond',
  ],
  ['a burst without a rate', { processing: { burst: 5 } }, 'processing.burst'],
  [
    'a stream alarm within the window',
    { stream: { batchWindow: seconds(60) }, alarms: { streamDelay: seconds(60) } },
    'alarms.streamDelay',
  ],
  [
    "a stream alarm within count-shed's window",
    { alarms: { streamDelay: seconds(10) } },
    'alarms.streamDelay',
  ],
  [
    'an age that no task reaches',
    { tasks: { maxTtl: minutes(60), allowDirectWrites: false }, alarms: { oldestPending: minutes(60) } },
    'alarms.oldestPending',
  ],
  [
    'a latency that no run exceeds',
    { processing: { targetLatency: seconds(30) } },
    'processing.targetLatency',
  ],
  ['an overload that no turn sees', codel(seconds(1), seconds(60)), 'processing.codel.interval'],
  ['a burst as an overload', codel(seconds(1), millis(1_999)), 'processing.codel.interval'],
  [
    'an age that expires first',
    { tasks: { defaultTtl: seconds(2) }, ...codel(seconds(1), seconds(5)) },
    'processing.codel.target',
  ],
  [
    'an age and an order that contradict each other',
    { processing: { order: 'oldest-key-first', codel: { target: seconds(1), interval: seconds(5) } } },
    'processing.codel',
  ],
  [
    'an order of keys that is forgotten before a task expires',
    {
      processing: { order: 'oldest-key-first' },
      tasks: { defaultTtl: minutes(61), successRetention: minutes(60) },
    },
    'processing.order',
  ],
  [
    'devices as keys, whose order is forgotten before a task expires',
    {
      ingest: { iotPresence: true },
      tasks: { defaultTtl: minutes(61), failureRetention: minutes(60) },
    },
    'ingest.iotPresence',
  ],
];

test.each(REJECTED)('rejected: %s', (_rule, settings, setting) => {
  expect(settingsRejected(settings)).toContain(setting);
});

const ACCEPTED: [limit: string, settings: PartialQueueSettings][] = [
  ['turn + task timeout + margin = function timeout', { processing: { turn: seconds(80) } }],
  [
    'three heartbeats = processor lease',
    { processing: { heartbeat: seconds(5), processorLease: seconds(15) } },
  ],
  ['a lease as long as the wait for the retry', { processing: { processorLease: seconds(60) } }],
  ["the stream's limits", { stream: { batchSize: 1, batchWindow: seconds(300) } }],
  ['no direct writers, with a longest expiry', { tasks: { allowDirectWrites: false, maxTtl: minutes(60) } }],
  ['an interval of two targets', codel(seconds(1), seconds(2))],
  ['a latency below the task timeout', { processing: { targetLatency: millis(29_999) } }],
  [
    'an order of keys that is remembered as long as a task lives',
    {
      processing: { order: 'oldest-key-first' },
      tasks: { defaultTtl: minutes(60), successRetention: minutes(60) },
    },
  ],
  ['no breaker', { processing: { breaker: { enabled: false } } }],
  ['a rate in decimals', { processing: { ratePerSecond: 0.25 } }],
  ['a rate and the smallest burst', { processing: { ratePerSecond: 100, burst: 1 } }],
  ['an alarm beyond the default expiry', { alarms: { oldestPending: minutes(90) } }],
  ['an alarm a moment beyond the windows', { alarms: { streamDelay: millis(10_001) } }],
];

test.each(ACCEPTED)('accepted: %s', (_limit, settings) => {
  expect(settingsRejected(settings)).toEqual([]);
});

test('turns longer than the maximum timeout of a function are not told to raise the timeout', () => {
  const turn = (minutes: number) => () =>
    Synthesized.queue({ processing: { taskTimeout: Duration.minutes(minutes) } });
  expect(turn(13)).toThrow(
    /Remedy: raise functionTimeout to at least 850 s \(at most 900 s\), or shorten turn/,
  );
  expect(turn(20)).toThrow(
    /Remedy: shorten turn or taskTimeout: the sum can be at most 900 s, the maximum timeout/,
  );
});

test('the error contains every broken rule and its remedy', () => {
  const build = () =>
    Synthesized.queue({
      processing: { turn: seconds(90), functionTimeout: seconds(120), heartbeat: seconds(10), burst: 3 },
      tasks: { allowDirectWrites: false },
      stream: { batchSize: 0 },
      runner: TaskRunner.simulated({ capacity: 0 }),
      expectedTasksPerSecond: -1,
    });
  expect(build).toThrow(InvalidConfiguration);
  expect(build).toThrow(/^test\/queue cannot work as configured:/);
  for (const part of [
    /processing\.functionTimeout: turn \(90 s\) \+ taskTimeout \(30 s\) \+ 10 s = 130 s is more than the function's timeout of 120 s/,
    /Remedy: raise functionTimeout to at least 130 s/,
    /processing\.processorLease: three heartbeats of 10 s do not fit into a lease of 20 s/,
    /Remedy: lengthen processorLease to at least 30 s, or shorten heartbeat/,
    /processing\.burst: a burst has no effect without a rate limit.*Remedy: set ratePerSecond too/,
    /tasks\.allowDirectWrites: .*but maxTtl is not set\. Remedy: set maxTtl to the longest expiry/,
    /stream\.batchSize: 0 is not a whole number from 1 to 10000/,
    /runner\.capacity: 0 is not a whole number/,
    /expectedTasksPerSecond: -1 is not a rate/,
  ]) {
    expect(build).toThrow(part);
  }
});

test.each<[string, Partial<LifoQueueProps>, RegExp]>([
  ['no tasks', { simulation: { load: { every: minutes(1), tasks: 0 } } }, /simulation\.load\.tasks/],
  [
    'seconds',
    { simulation: { load: { every: seconds(90), tasks: 1 } } },
    /simulation\.load\.every: 90 s is not a whole number of minutes/,
  ],
  ['no time', { simulation: { load: { every: seconds(0), tasks: 1 } } }, /simulation\.load\.every/],
])('a simulated load of %s is rejected', (_load, props, message) => {
  expect(() => Synthesized.queue(props)).toThrow(message);
});

describe('the expected load', () => {
  test.each([undefined, 1, 200])('%s tasks per second print no warning', (expectedTasksPerSecond) => {
    expect(Synthesized.queue({ expectedTasksPerSecond }).warnings()).toEqual([]);
  });

  test('prints a warning beyond the limit of one index partition', () => {
    const [warning, ...others] = Synthesized.queue({ expectedTasksPerSecond: 201 }).warnings();
    expect(others).toEqual([]);
    expect(warning).toMatch(
      /expectedTasksPerSecond = 201 is more than one queue can always sustain: 200 to 500/,
    );
    expect(warning).toMatch(/Split the load over several LifoQueue constructs/);
  });

  test('prints a warning beyond the rate limit', () => {
    const processing = { ratePerSecond: 4.5 };
    expect(Synthesized.queue({ processing, expectedTasksPerSecond: 4.5 }).warnings()).toEqual([]);
    expect(Synthesized.queue({ processing }).warnings()).toEqual([]);
    expect(Synthesized.queue({ processing, expectedTasksPerSecond: 5 }).warnings()).toEqual([
      expect.stringMatching(
        /expectedTasksPerSecond = 5 is more than processing\.ratePerSecond = 4\.5.*Raise ratePerSecond/,
      ),
    ]);
  });
});
