import { Duration } from 'aws-cdk-lib';
import type { PartialQueueSettings } from '../../infra/tasks/settings';
import { Synthesized } from './synthesis';

type Case = [settings: PartialQueueSettings];

describe('runs without a response', () => {
  test.each<Case>([
    [{ processing: { ratePerSecond: 19, taskTimeout: Duration.seconds(20) } }],
    [{ processing: { ratePerSecond: 19, concurrency: 12 } }],
    [{ processing: { concurrency: 1 } }],
  ])('print no warning if they leave slots: %j', (settings) => {
    expect(Synthesized.queue(settings).warnings()).toEqual([]);
  });

  test('print a warning if 2 % of them take every slot', () => {
    expect(Synthesized.queue({ processing: { ratePerSecond: 19 } }).warnings()).toEqual([
      expect.stringMatching(/taskTimeout = 30 s: if .* about 11 runs .*concurrency = 10 leaves no slot/),
    ]);
  });
});

test('former settings have no effect but print a warning', () => {
  const other = Duration.seconds(90);
  const processing = {
    reservedConcurrency: 3,
    clockSkew: other,
    notificationMarker: other,
    deadlineMargin: other,
    retryAttempts: 0,
    maxEventAge: other,
    maxIdleTurns: 1,
    pause: other,
  };
  const breaker = { pauseAfter: other };
  const stream = { retryAttempts: 0, maxRecordAge: other };
  const ingest = { deadlineMargin: Duration.seconds(30), visibilityTimeout: other };
  const queue = Synthesized.queue({ processing: { ...processing, breaker }, stream, ingest });
  const agents = Synthesized.agentQueue({ calls: { visibilityTimeout: other } });

  expect([queue.masked(), agents.masked()]).toEqual([
    Synthesized.queue({ ingest: {} }).masked(),
    Synthesized.agentQueue({}).masked(),
  ]);
  const former = Object.entries({ processing, 'processing.breaker': breaker, stream, ingest });
  const names = former.flatMap(([path, group]) => Object.keys(group).map((name) => `${path}.${name}`));
  expect(queue.warnings()).toEqual(names.map((name) => expect.stringContaining(`${name} has no effect: `)));
  expect(agents.warnings()).toEqual([
    expect.stringMatching(/calls\.visibilityTimeout has no effect.*Remove it/),
  ]);
});

test('Lambda keeps a wake-up of process-tasks long enough for one retry', () => {
  const ages = [Duration.minutes(2), Duration.minutes(15)].map((functionTimeout) => {
    const queue = Synthesized.queue({ processing: { functionTimeout } });
    return queue.at('process-tasks/function/EventInvokeConfig').Properties.MaximumEventAgeInSeconds;
  });
  expect(ages).toEqual([300, 960]);
});
