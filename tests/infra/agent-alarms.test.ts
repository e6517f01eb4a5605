import { Duration, Stack } from 'aws-cdk-lib';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { AgentQueue } from '../../infra/agents/agent-queue';
import type { PartialAgentQueueSettings } from '../../infra/agents/settings';
import { AGENT_QUEUE } from '../../infra/contract/agents';
import { newApp, Synthesized } from './synthesis';

const prod = Synthesized.agents('prod');
const alarms = prod.all('AWS::CloudWatch::Alarm');

function alarm(id: string, synthesized = prod) {
  return synthesized.at(`observability/${id}-alarm`).Properties;
}

function thresholds(ids: string[], settings: PartialAgentQueueSettings): number[] {
  const synthesized = Synthesized.agentQueue(settings);
  return ids.map((id) => alarm(id, synthesized).Threshold);
}

const ABOVE = { ComparisonOperator: 'GreaterThanThreshold', TreatMissingData: 'notBreaching' };

test('sweep-missed follows the interval of the sweep', () => {
  const rare = Synthesized.agentQueue({ agents: { sweepInterval: Duration.minutes(10) } });
  expect(alarm('sweep-missed', rare).Period).toBe(600);
});

test('the metrics are those of this queue, and in the contract', () => {
  const own = alarms.filter(({ Properties }) => Properties.Namespace === 'freshq');
  expect(own).toHaveLength(3);
  for (const { Properties } of own) {
    expect(AGENT_QUEUE.metrics).toContain(Properties.MetricName);
    expect(Properties.Dimensions).toEqual([{ Name: 'Queue', Value: expect.anything() }]);
    expect(prod.readable(Properties.Dimensions[0].Value)).toBe('agent-table');
  }
});

test('every queue but the call queue has an alarm on its messages', () => {
  const watched = alarms
    .filter(({ Properties }) => Properties.MetricName === 'ApproximateNumberOfMessagesVisible')
    .map(({ Properties }) => {
      expect(Properties).toMatchObject({ ...ABOVE, Statistic: 'Maximum', Threshold: 0 });
      return prod.readable(Properties.Dimensions[0].Value);
    });
  const queues = prod
    .all('AWS::SQS::Queue')
    .map(({ Metadata }) => String(Metadata?.['aws:cdk:path']))
    .map((path) => path.replace('AgentQueue-prod/queue/', '').replace('/Resource', ''))
    .filter((path) => path !== 'call-intake/queue');
  expect(queues).toContain('call-intake/dead-letters');
  expect(watched.sort()).toEqual(queues.map((queue) => `${queue}.QueueName`).sort());
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

test('alarms publish to the given topic', () => {
  const stack = new Stack(newApp(), 'test');
  new AgentQueue(stack, 'queue', { alarmTopic: new Topic(stack, 'on-call') });
  const told = new Synthesized(stack);
  const telling = told.all('AWS::CloudWatch::Alarm');
  expect(telling).toHaveLength(alarms.length);
  for (const { Properties } of telling)
    expect(Properties.AlarmActions.map((action: unknown) => told.readable(action))).toEqual(['on-call']);
});
