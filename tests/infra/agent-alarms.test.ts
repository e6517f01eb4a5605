import { Duration } from 'aws-cdk-lib';
import type { PartialAgentQueueSettings } from '../../infra/agents/settings';
import { Synthesized } from './synthesis';

function alarm(id: string, settings: PartialAgentQueueSettings) {
  return Synthesized.agentQueue(settings).at(`observability/${id}-alarm`).Properties;
}

function thresholds(ids: string[], settings: PartialAgentQueueSettings): number[] {
  return ids.map((id) => alarm(id, settings).Threshold);
}

test('sweep-missed follows the interval of the sweep', () => {
  expect(alarm('sweep-missed', { agents: { sweepInterval: Duration.minutes(10) } }).Period).toBe(600);
});

test('alarms follow their typed settings', () => {
  const ids = ['oldest-pending', 'intake-delay', 'agent-desk-errors', 'call-dead-letters'];
  expect(
    thresholds(ids, {
      alarms: {
        oldestPending: Duration.seconds(90),
        intakeDelay: Duration.minutes(10),
        deskErrors: 0,
        deadCalls: 7,
      },
    }),
  ).toEqual([90, 600, 0, 7]);
});

test('alarms follow the wait and the visibility timeout they watch', () => {
  expect(
    thresholds(['oldest-pending', 'intake-delay'], {
      calls: { maxWait: Duration.seconds(99), functionTimeout: Duration.minutes(2) },
    }),
  ).toEqual([79, 780]);
});
