import { Duration } from 'aws-cdk-lib';
import { Synthesized } from './synthesis';

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
  expect(agents.warnings()).toEqual([expect.stringMatching(/calls\.visibilityTimeout has no.*Remove it/)]);
});
