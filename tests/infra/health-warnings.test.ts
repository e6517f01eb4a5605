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

test('settings of a former automatic pause are accepted with a warning that they have no effect', () => {
  const minute = Duration.minutes(1);
  const settings = { processing: { pause: minute, breaker: { pauseAfter: minute } } };
  expect(Synthesized.queue(settings).warnings()).toEqual([
    expect.stringMatching(/processing\.pause has no effect.*Remove it/),
    expect.stringMatching(/processing\.breaker\.pauseAfter has no effect.*Remove it/),
  ]);
});

test('former settings have no effect but print a warning', () => {
  const processing = {
    reservedConcurrency: 3,
    clockSkew: Duration.seconds(9),
    notificationMarker: Duration.seconds(1),
  };
  const queue = Synthesized.queue({ processing });
  expect(queue.fn('process-tasks').ReservedConcurrentExecutions).toBe(2);
  expect(queue.settings('process-tasks')).toMatchObject({ clockSkewMs: 2_000, notificationMarkerMs: 10_000 });
  expect(queue.warnings()).toEqual(
    Object.keys(processing).map((name) => expect.stringContaining(`processing.${name} has no effect`)),
  );
});
