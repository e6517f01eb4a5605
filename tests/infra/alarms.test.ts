import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duration, Stack } from 'aws-cdk-lib';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { AGENT_QUEUE } from '../../infra/agent-contract';
import { RUNBOOK } from '../../infra/alarms/queue-alarm';
import { LifoQueue } from '../../infra/constructs/lifo-queue';
import { TaskRunner } from '../../infra/constructs/task-runner';
import { METRICS } from '../../infra/contract';
import { ENVIRONMENT_NAMES } from '../../infra/environments';
import { KINDS, newApp, ROOT, Synthesized } from './synthesis';

const runbook = readFileSync(join(ROOT, 'docs', 'operations.md'), 'utf8');

describe.each(ENVIRONMENT_NAMES)('the alarms of %s', (name) => {
  const synthesized = Synthesized.environment(name);
  const alarms = synthesized.all('AWS::CloudWatch::Alarm');
  const alarm = (id: string) => synthesized.at(`observability/${id}-alarm`).Properties;

  test.each([
    ['paused', 'QueuePaused', 'Sum', 0],
    ['stalled', 'IdleBoundReached', 'Sum', 0],
    // 80 % of the hour that a task may wait.
    ['oldest-pending', 'OldestPendingSeconds', 'Maximum', 2_880],
  ])('ring when the queue is %s, in its worst minute', (id, metric, statistic, threshold) => {
    expect(alarm(id)).toMatchObject({
      Namespace: 'freshq',
      MetricName: metric,
      Statistic: statistic,
      Period: 60,
      EvaluationPeriods: 1,
      Threshold: threshold,
      ComparisonOperator: 'GreaterThanThreshold',
      TreatMissingData: 'notBreaching',
    });
  });

  test('ring when no sweep ran for five minutes, since silence is what they watch for', () => {
    expect(alarm('sweep-missed')).toMatchObject({
      Namespace: 'freshq',
      MetricName: 'Sweeps',
      Statistic: 'Sum',
      Period: 300,
      EvaluationPeriods: 1,
      Threshold: 1,
      ComparisonOperator: 'LessThanThreshold',
      TreatMissingData: 'breaching',
    });
  });

  test('tell this queue from others', () => {
    const own = alarms.filter(({ Properties }) => Properties.Namespace === 'freshq');
    expect(own).toHaveLength(4);
    for (const { Properties } of own) {
      expect(METRICS.names).toContain(Properties.MetricName);
      expect(Properties.Dimensions).toEqual([{ Name: 'Queue', Value: expect.anything() }]);
      expect(synthesized.readable(Properties.Dimensions[0].Value)).toBe('task-table/table');
    }
  });

  test.each(['trigger', 'count-shed'])('ring when %s lags a minute behind the stream', (fn) => {
    const properties = alarm(`${fn}-stream-delay`);
    expect(properties).toMatchObject({
      Namespace: 'AWS/Lambda',
      MetricName: 'IteratorAge',
      Statistic: 'Maximum',
      Period: 60,
      Threshold: 60_000,
      ComparisonOperator: 'GreaterThanThreshold',
      TreatMissingData: 'notBreaching',
    });
    expect(properties.Dimensions).toEqual([{ Name: 'FunctionName', Value: expect.anything() }]);
    expect(synthesized.readable(properties.Dimensions[0].Value)).toBe(`${fn}/function`);
  });

  test.each(['trigger', 'process-tasks'])('ring when Lambda drops %s as a runaway loop', (fn) => {
    const properties = alarm(`${fn}-recursion`);
    expect(properties).toMatchObject({
      Namespace: 'AWS/Lambda',
      MetricName: 'RecursiveInvocationsDropped',
      Statistic: 'Sum',
      Period: 60,
      Threshold: 0,
      ComparisonOperator: 'GreaterThanThreshold',
      TreatMissingData: 'notBreaching',
    });
    expect(synthesized.readable(properties.Dimensions[0].Value)).toBe(`${fn}/function`);
  });

  test('watch every failure queue, and not the tasks that were shed', () => {
    const watched = alarms
      .filter(({ Properties }) => Properties.MetricName === 'ApproximateNumberOfMessagesVisible')
      .map(({ Properties }) => {
        expect(Properties).toMatchObject({
          Namespace: 'AWS/SQS',
          Statistic: 'Maximum',
          Threshold: 0,
          ComparisonOperator: 'GreaterThanThreshold',
        });
        return synthesized.readable(Properties.Dimensions[0].Value);
      });
    const queues = synthesized
      .all('AWS::SQS::Queue')
      .map(({ Metadata }) => String(Metadata?.['aws:cdk:path']))
      .filter((path) => path.startsWith(`LifoQueue-${name}/queue/`))
      .map((path) => path.replace(`LifoQueue-${name}/queue/`, '').replace('/Resource', ''))
      .filter((path) => path !== 'ingest/queue');
    expect(queues).toContain('count-shed/failures');
    expect(queues).toContain('ingest/dead-letters');
    expect(watched.sort()).toEqual(queues.map((queue) => `${queue}.QueueName`).sort());
  });
});

describe.each(ENVIRONMENT_NAMES)('every alarm of %s', (name) => {
  const alarms = KINDS.flatMap(({ synthesize }) => synthesize(name).all('AWS::CloudWatch::Alarm'));

  test('says what to do first, and names a section of the runbook that is there', () => {
    const named = alarms.map(({ Properties }) => {
      expect(Properties.AlarmDescription).toMatch(/\bFirst \w+/);
      expect(Properties.AlarmDescription.length).toBeLessThanOrEqual(1_024);
      const [, section] = /More: docs\/operations\.md, "(.+)"\.$/.exec(Properties.AlarmDescription) ?? [];
      expect(runbook).toContain(`\n### ${section}\n`);
      return section;
    });
    expect(new Set(named)).toEqual(new Set(Object.values(RUNBOOK)));
  });

  test('tells nobody unless told whom', () => {
    for (const { Properties } of alarms) expect(Properties.AlarmActions).toBeUndefined();
  });
});

test('the runbook explains every metric', () => {
  for (const metric of [...METRICS.names, ...AGENT_QUEUE.metrics])
    expect(runbook).toContain(`| \`${metric}\` |`);
});

test('alarms follow their typed settings', () => {
  const synthesized = Synthesized.queue({
    tasks: { defaultTtl: Duration.hours(2) },
    alarms: { oldestPending: Duration.seconds(90), streamDelay: Duration.millis(45_500) },
  });
  const threshold = (id: string) => synthesized.at(`observability/${id}-alarm`).Properties.Threshold;
  expect(threshold('oldest-pending')).toBe(90);
  expect([threshold('trigger-stream-delay'), threshold('count-shed-stream-delay')]).toEqual([45_500, 45_500]);
});

test('alarms follow the expiry and the window they watch', () => {
  const synthesized = Synthesized.queue({
    tasks: { defaultTtl: Duration.seconds(99) },
    stream: { batchWindow: Duration.seconds(300) },
  });
  const threshold = (id: string) => synthesized.at(`observability/${id}-alarm`).Properties.Threshold;
  expect(threshold('oldest-pending')).toBe(79);
  expect(threshold('trigger-stream-delay')).toBe(360_000);
});

test('alarms tell whom they are given', () => {
  const told = Synthesized.of((stack) => ({ alarmTopic: new Topic(stack, 'on-call') }));
  const alarms = told.all('AWS::CloudWatch::Alarm');
  expect(alarms.length).toBe(Synthesized.queue().all('AWS::CloudWatch::Alarm').length);
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
