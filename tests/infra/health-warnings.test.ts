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

test('Lambda keeps a wake-up of process-tasks long enough for one retry', () => {
  const ages = [Duration.minutes(2), Duration.minutes(15)].map((functionTimeout) => {
    const queue = Synthesized.queue({ processing: { functionTimeout } });
    return queue.at('process-tasks/function/EventInvokeConfig').Properties.MaximumEventAgeInSeconds;
  });
  expect(ages).toEqual([300, 960]);
});
