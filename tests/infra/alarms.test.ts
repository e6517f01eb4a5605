import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Duration } from 'aws-cdk-lib';
import { AGENT_QUEUE } from '../../infra/contract/agents';
import { METRICS } from '../../infra/contract/tasks';
import { ENVIRONMENT_NAMES } from '../../infra/environments/list';
import { RUNBOOK, runbookPlace } from '../../infra/shared/alarms/queue-alarm';
import { KINDS, ROOT, Synthesized } from './synthesis';

interface Query {
  readonly Id: string;
  readonly Expression?: string;
  readonly ReturnData?: boolean;
  readonly MetricStat?: { readonly Period: number };
}

/** Returns the metrics that a metric math alarm compares with its threshold. */
function queries(metrics: readonly Query[]): Query[] {
  return metrics.filter(({ ReturnData }) => ReturnData !== false);
}

describe.each([
  {
    stack: 'LifoQueue-prod',
    synthesized: Synthesized.environment('prod'),
    table: 'task-table/table',
    metrics: METRICS.names,
    own: 5,
    intake: 'ingest',
  },
  {
    stack: 'AgentQueue-prod',
    synthesized: Synthesized.agents('prod'),
    table: 'agent-table',
    metrics: AGENT_QUEUE.metrics,
    own: 3,
    intake: 'call-intake',
  },
])('the alarms of $stack', ({ stack, synthesized, table, metrics, own, intake }) => {
  const alarms = synthesized.all('AWS::CloudWatch::Alarm').map(({ Properties }) => Properties);

  test('evaluate metrics of this queue only', () => {
    const ours = alarms.filter(({ Namespace }) => Namespace === 'freshq');
    expect(ours).toHaveLength(own);
    for (const { MetricName, Dimensions } of ours) {
      expect(metrics).toContain(MetricName);
      expect(Dimensions).toEqual([{ Name: 'Queue', Value: expect.anything() }]);
      expect(synthesized.readable(Dimensions[0].Value)).toBe(table);
    }
  });

  test('cover every failure queue, but not the queue for shed tasks or the intake queue', () => {
    const watched = alarms
      .filter(({ MetricName }) => MetricName === 'ApproximateNumberOfMessagesVisible')
      .map((alarm) => {
        expect(alarm).toMatchObject({
          Namespace: 'AWS/SQS',
          Statistic: 'Maximum',
          Threshold: 0,
          ComparisonOperator: 'GreaterThanThreshold',
          TreatMissingData: 'notBreaching',
        });
        return synthesized.readable(alarm.Dimensions[0].Value);
      });
    const queues = synthesized
      .all('AWS::SQS::Queue')
      .map(({ Metadata }) => String(Metadata?.['aws:cdk:path']))
      .filter((path) => path.startsWith(`${stack}/queue/`))
      .map((path) => path.replace(`${stack}/queue/`, '').replace('/Resource', ''))
      .filter((path) => path !== `${intake}/queue`);
    expect(queues).toContain(`${intake}/dead-letters`);
    expect(watched.sort()).toEqual(queues.map((queue) => `${queue}.QueueName`).sort());
  });
});

describe.each(ENVIRONMENT_NAMES)('every alarm of %s', (name) => {
  const alarms = KINDS.flatMap(({ synthesize }) => synthesize(name).all('AWS::CloudWatch::Alarm'));

  test('describes the first action and names an existing runbook section', () => {
    const named = alarms.map(({ Properties }) => {
      expect(Properties.AlarmDescription).toMatch(/\bFirst \w+/);
      expect(Properties.AlarmDescription.length).toBeLessThanOrEqual(1_024);
      const [, page = '', section = ''] =
        /More: (docs\/\S+), "(.+)"\.$/.exec(Properties.AlarmDescription) ?? [];
      expect(readFileSync(join(ROOT, page), 'utf8')).toContain(`\n## ${section}\n`);
      return `${basename(page)}, "${section}"`;
    });
    // No environment uses admission. The admission tests cover this alarm.
    const { notAdmitted: _, ...everywhere } = RUNBOOK;
    expect(new Set(named)).toEqual(new Set(Object.values(everywhere)));
  });

  test('names only freshq commands for its own stack', () => {
    for (const { Properties, Metadata } of alarms) {
      const stack = String(Metadata?.['aws:cdk:path']).split('/')[0];
      const named = [...Properties.AlarmDescription.matchAll(/ --stack ([^ ,.:]+)/g)].map(([, name]) => name);
      expect(new Set([stack, ...named])).toEqual(new Set([stack]));
      expect(Properties.AlarmDescription).not.toMatch(/\bmake [a-z]/);
    }
  });

  test('is not kept in the OK state by a late data point that FILL replaces', () => {
    const filled = alarms.filter(({ Properties }) =>
      JSON.stringify(Properties.Metrics ?? []).includes('FILL('),
    );
    expect(filled).toHaveLength(3);
    for (const { Properties, Metadata } of filled) {
      const { EvaluationPeriods: all, DatapointsToAlarm: breaching = all, Metrics } = Properties;
      const periods = (Metrics as Query[]).flatMap(({ MetricStat }) => MetricStat?.Period ?? []);
      // CloudWatch moves a single period by one minute at a time, so FILL applies only if all its minutes are empty.
      const single = all === 1 && Math.min(...periods) >= 300;
      expect([Metadata?.['aws:cdk:path'], single || breaching < all]).toEqual([expect.anything(), true]);
    }
  });

  test('has no action without a topic', () => {
    for (const { Properties } of alarms) expect(Properties.AlarmActions).toBeUndefined();
  });
});

test('an alarm of a released package links to its runbook section', () => {
  const page = 'https://github.com/owner/freshq/blob/HEAD/docs/how-to/runbook-agents.md';
  const home = 'https://github.com/owner/freshq#readme';
  expect(runbookPlace('agentSweepMissed', home)).toBe(`${page}#the-agents-sweep-is-missing`);
});

test('the failure alarms use the configured settings', () => {
  const synthesized = Synthesized.queue({
    ingest: { functionTimeout: Duration.seconds(900) },
    alarms: {
      failedTasks: 1,
      failedShare: 0.25,
      createErrors: 0,
      ingestDelay: Duration.days(2),
    },
  });
  const at = (id: string) => synthesized.at(`observability/${id}-alarm`).Properties;
  expect(queries(at('failing').Metrics)[0]?.Expression).toContain(
    'failures >= 1 AND failures > 0.25*(failures+',
  );
  expect(at('failing').AlarmDescription).toContain('at least 1 tasks ended as FAILURE, more than 25 %');
  expect(at('create-tasks-errors').Threshold).toBe(0);
  // CloudWatch evaluates at most one day.
  expect(at('ingest-stuck')).toMatchObject({ DatapointsToAlarm: 1_438, EvaluationPeriods: 1_440 });
});

test.each([
  [{ visible: 0, received: 0, deleted: 0 }, 0, 'all messages are postponed, or there are none'],
  [{ visible: 0, received: 7, deleted: 0 }, 1, 'received messages are not written'],
  [{ visible: 7, received: 0, deleted: 0 }, 1, 'messages are not received'],
  [{ visible: 7, received: 7, deleted: 1 }, 0, 'a message is written'],
])('ingest-stuck at %j is %d: %s', (values, expected) => {
  const { Metrics } = Synthesized.environment('prod').at('observability/ingest-stuck-alarm').Properties;
  const formula = queries(Metrics)[0]?.Expression ?? '';
  expect(JSON.stringify(Metrics)).not.toContain('NotVisible');
  const condition = /^IF\((.*), 1, 0\)$/.exec(formula)?.[1] ?? '';
  // Each alternative is a conjunction of comparisons with a number.
  const compared = condition.replace(/FILL\((\w+),0\)/g, (_, name: keyof typeof values) => `${values[name]}`);
  const holds = (text: string) => {
    const [, left, operator, right] = /(\d+) ([<>]) (\d+)/.exec(text) ?? [];
    return operator === '>' ? Number(left) > Number(right) : Number(left) < Number(right);
  };
  const [any = '', last = ''] = compared.split(' AND ');
  expect(Number(any.split(' OR ').some(holds) && holds(last))).toBe(expected);
});

test('without an ingest queue, the alarm on creation errors covers only create-tasks', () => {
  const { MetricName, Metrics } = Synthesized.queue().at(
    'observability/create-tasks-errors-alarm',
  ).Properties;
  expect([MetricName, Metrics]).toEqual(['Errors', undefined]);
});

test.each<[string, Synthesized, Readonly<Record<string, number>>]>([
  [
    'their typed settings',
    Synthesized.queue({
      tasks: { defaultTtl: Duration.hours(2) },
      ingest: {},
      alarms: {
        oldestPending: Duration.seconds(90),
        streamDelay: Duration.millis(45_500),
        ingestDelay: Duration.minutes(10),
        ingestDeadLetters: 25,
      },
    }),
    {
      'oldest-pending': 90,
      'trigger-stream-delay': 45_500,
      'count-shed-stream-delay': 45_500,
      'ingest-delay': 600,
      'ingest-dead-letters': 25,
    },
  ],
  [
    'the expiry, the window and the visibility timeout they watch',
    Synthesized.queue({
      tasks: { defaultTtl: Duration.seconds(99) },
      stream: { batchWindow: Duration.seconds(300) },
      ingest: { functionTimeout: Duration.minutes(2) },
    }),
    { 'oldest-pending': 79, 'trigger-stream-delay': 360_000, 'ingest-delay': 780 },
  ],
  [
    "their typed settings in an agents' queue",
    Synthesized.agentQueue({
      alarms: {
        oldestPending: Duration.seconds(90),
        intakeDelay: Duration.minutes(10),
        deskErrors: 0,
        deadCalls: 7,
      },
    }),
    { 'oldest-pending': 90, 'intake-delay': 600, 'agent-desk-errors': 0, 'call-dead-letters': 7 },
  ],
  [
    "the wait and the visibility timeout they watch in an agents' queue",
    Synthesized.agentQueue({
      calls: { maxWait: Duration.seconds(99), functionTimeout: Duration.minutes(2) },
    }),
    { 'oldest-pending': 79, 'intake-delay': 780 },
  ],
])('thresholds follow %s', (_what, synthesized, expected) => {
  const found = Object.keys(expected).map((id) => [
    id,
    synthesized.at(`observability/${id}-alarm`).Properties.Threshold,
  ]);
  expect(Object.fromEntries(found)).toEqual(expected);
});

test('the period of the sweep-missed alarm is the sweep interval', () => {
  const synthesized = Synthesized.agentQueue({ agents: { sweepInterval: Duration.minutes(10) } });
  expect(synthesized.at('observability/sweep-missed-alarm').Properties.Period).toBe(600);
  const { ScheduleExpression } = synthesized.at('sweep-agents/regularly/schedule').Properties;
  expect(ScheduleExpression).toBe('rate(10 minutes)');
});
