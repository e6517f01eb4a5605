import { Stack } from 'aws-cdk-lib';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { LifoQueue } from '../../infra/constructs/lifo-queue';
import { TaskRunner } from '../../infra/constructs/task-runner';
import { newApp, Synthesized } from './synthesis';

const dev = Synthesized.environment('dev');

test.each([
  ['paused', 'QueuePaused'],
  ['stalled', 'IdleBoundReached'],
])('an alarm tells that the queue is %s', (alarm, metric) => {
  const { Properties } = dev.at(`observability/${alarm}-alarm`);
  expect(Properties).toMatchObject({
    Namespace: 'freshq',
    MetricName: metric,
    Statistic: 'Sum',
    Period: 60,
    Threshold: 0,
    ComparisonOperator: 'GreaterThanThreshold',
    TreatMissingData: 'notBreaching',
  });
  expect(Properties.Dimensions).toEqual([{ Name: 'Queue', Value: expect.anything() }]);
  expect(dev.readable(Properties.Dimensions[0].Value)).toBe('task-table/table');
});

test('an alarm watches every failure queue', () => {
  const watched = dev
    .all('AWS::CloudWatch::Alarm')
    .filter(({ Properties }) => Properties.Namespace === 'AWS/SQS')
    .map(({ Properties }) => {
      expect(Properties).toMatchObject({
        MetricName: 'ApproximateNumberOfMessagesVisible',
        Statistic: 'Maximum',
        Threshold: 0,
        ComparisonOperator: 'GreaterThanThreshold',
      });
      return dev.readable(Properties.Dimensions[0].Value);
    });
  const queues = dev
    .all('AWS::SQS::Queue')
    .map(({ Metadata }) =>
      Metadata?.['aws:cdk:path']?.replace('LifoQueue-dev/queue/', '').replace('/Resource', ''),
    );
  expect(watched.sort()).toEqual(queues.map((queue) => `${queue}.QueueName`).sort());
});

test('alarms tell whom they are given, or nobody', () => {
  for (const { Properties } of dev.all('AWS::CloudWatch::Alarm'))
    expect(Properties.AlarmActions).toBeUndefined();
  const told = Synthesized.of((stack) => ({ alarmTopic: new Topic(stack, 'on-call') }));
  const alarms = told.all('AWS::CloudWatch::Alarm');
  expect(alarms.length).toBe(dev.all('AWS::CloudWatch::Alarm').length);
  for (const { Properties } of alarms) {
    expect(Properties.AlarmActions.map((action: unknown) => told.readable(action))).toEqual(['on-call']);
  }
});

test('a FIFO topic is refused for alarms', () => {
  const stack = new Stack(newApp(), 'test');
  const alarmTopic = new Topic(stack, 'on-call', { fifo: true });
  expect(() => new LifoQueue(stack, 'queue', { runner: TaskRunner.simulated(), alarmTopic })).toThrow(
    /alarmTopic: CloudWatch alarms cannot publish to a FIFO topic\. Remedy: use a standard topic/,
  );
});
