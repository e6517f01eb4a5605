import type { PartialQueueSettings } from '../../infra/tasks/settings';
import { Synthesized } from './synthesis';

type Case = [settings: PartialQueueSettings];

const groups = { maxConcurrency: 10, ratePerSecond: 2.5 };
const ingest = { iotPresence: true };

describe('groups', () => {
  test.each<Case>([
    [{ processing: { concurrency: 11, groups } }],
    [{ processing: { concurrency: 11, ratePerSecond: 2.6, groups } }],
    [{ processing: { concurrency: 11, ratePerSecond: 2.5, burst: 4, groups } }],
    [{ processing: { groups: {}, concurrency: 1, ratePerSecond: 0.1 }, ingest }],
    [{ processing: { groups: { breaker: true } }, ingest }],
    [{ ingest }],
  ])('print no warning if they work as intended: %j', (settings) => {
    expect(Synthesized.queue(settings).warnings()).toEqual([]);
  });

  test.each<[...Case, warning: RegExp]>([
    [
      { processing: { groups: { maxConcurrency: 10 } } },
      /groups\.maxConcurrency = 10 limits no group.* processing\.concurrency = 10 .*below 10/,
    ],
    [
      { processing: { ratePerSecond: 2.5, groups: { ratePerSecond: 2.5 } } },
      /groups\.ratePerSecond = 2\.5 limits no group.* processing\.ratePerSecond = 2\.5 .*below 2\.5/,
    ],
    [
      { processing: { ratePerSecond: 2.5, burst: 2, groups: { ratePerSecond: 3 } } },
      /groups\.ratePerSecond = 3 limits no group/,
    ],
    [
      { processing: { groups: { ratePerSecond: 1 } }, ingest },
      /puts all devices into the one group iot-presence, so the limit is for all devices together/,
    ],
    [
      { processing: { groups: {}, order: 'oldest-key-first' } },
      /A group whose tasks are all newer does not start/,
    ],
  ])('print a warning if they do not work as intended: %j', (settings, warning) => {
    expect(Synthesized.queue(settings).warnings()).toEqual([expect.stringMatching(warning)]);
  });
});
