import { Stack } from 'aws-cdk-lib';
import { AGENT_METRICS } from '../../infra/contract/agent-metrics';
import { TASK_METRICS } from '../../infra/contract/task-metrics';
import { ENVIRONMENTS } from '../../infra/environments/list';
import { chooseEnvironments } from '../../infra/environments/rules';
import { LifoQueue } from '../../infra/tasks/lifo-queue';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { bothStacks, environment, newApp, Synthesized } from './synthesis';

const DASHBOARD = 'AWS::CloudWatch::Dashboard';

interface Widget {
  readonly type: string;
  readonly width: number;
  readonly properties: {
    readonly title?: string;
    readonly markdown?: string;
    readonly alarms?: readonly string[];
    readonly metrics?: readonly (readonly unknown[])[];
    readonly query?: string;
  };
}

/** Returns the widgets of a stack's dashboard. Construct paths replace the references that CloudFormation resolves. */
function widgetsOf(synthesized: Synthesized): Widget[] {
  const { DashboardBody } = synthesized.at('observability/dashboard').Properties;
  return JSON.parse(synthesized.readable(DashboardBody)).widgets;
}

const KINDS = [
  ['task queue', Synthesized.environment('prod'), 'task-table/table', TASK_METRICS],
  ["agents' queue", Synthesized.agents('prod'), 'agent-table', AGENT_METRICS],
] as const;

describe.each(KINDS)('the dashboard of a %s', (_kind, synthesized, table, declared) => {
  const widgets = widgetsOf(synthesized);
  const metrics = widgets.flatMap(({ properties }) => properties.metrics ?? []);

  test('shows every alarm first, then freshness, flow, errors, saturation and cost', () => {
    const [first, ...others] = widgets;
    const alarms = synthesized.all('AWS::CloudWatch::Alarm');
    expect(first?.type).toBe('alarm');
    expect(first?.properties.alarms).toHaveLength(alarms.length);
    const headings = others.flatMap(
      ({ properties: { markdown } }) => /^## (.*)/.exec(markdown ?? '')?.[1] ?? [],
    );
    expect(headings).toEqual(['Freshness', 'Flow', 'Errors', 'Saturation', 'Cost']);
  });

  test('specifies dimensions for every metric, so that no graph shows the whole account', () => {
    expect(metrics.length).toBeGreaterThan(20);
    for (const metric of metrics) {
      const [namespace, , ...dimensions] = metric;
      if (typeof namespace === 'string') expect(dimensions.length).toBeGreaterThan(2);
    }
  });

  test("shows the queue's own metrics with the declared statistic", () => {
    const own = metrics.filter(([namespace]) => namespace === 'freshq');
    expect(own.length).toBeGreaterThan(10);
    for (const [, name, dimension, value, options] of own) {
      expect([dimension, value]).toEqual(['Queue', table]);
      const { stat } = options as { stat: string };
      const { statistic } = declared[name as keyof typeof declared] as { statistic: string };
      // The alarm on this metric uses the minimum of five sweeps.
      expect([name, stat]).toEqual([name, name === 'UnpublishedAssignments' ? 'Minimum' : statistic]);
    }
  });

  test('draws the thresholds of alarms', () => {
    const alarmed = synthesized.all('AWS::CloudWatch::Alarm').map(({ Properties }) => Properties);
    const [named] = alarmed.filter(({ MetricName }) => /^Oldest/.test(MetricName));
    const body = JSON.stringify(widgets);
    expect(body).toContain(`"value":${named?.Threshold}`);
  });
});

test('a queue with a disabled dashboard still has its saved queries', () => {
  for (const synthesized of [
    Synthesized.queue({ dashboard: false }),
    Synthesized.agentQueue({ dashboard: false }),
  ]) {
    expect(synthesized.all(DASHBOARD)).toEqual([]);
    expect(synthesized.all('AWS::Logs::QueryDefinition').length).toBeGreaterThan(4);
  }
});

test('environments have dashboards by default, and personal stacks have none', () => {
  const [personal] = chooseEnvironments('dev', ENVIRONMENTS, 'alice');
  const without = { ...environment('dev'), dashboards: false };
  const dashboards = [environment('dev'), without, personal ?? without].map((each) => {
    const stacks = bothStacks(each).map((stack) => new Synthesized(stack));
    return stacks.map((stack) => stack.all(DASHBOARD).length);
  });
  expect(dashboards).toEqual([
    [1, 1],
    [0, 0],
    [0, 0],
  ]);
});

test('two queues of a stack keep their queries in different folders', () => {
  const stack = new Stack(newApp(), 'test');
  for (const id of ['quotes', 'orders']) new LifoQueue(stack, id, { runner: TaskRunner.simulated() });
  const queries = new Synthesized(stack).all('AWS::Logs::QueryDefinition');
  const names = queries.map(({ Properties }) => Properties.Name);
  expect(names).toEqual(
    expect.arrayContaining(['freshq/test/quotes/task story', 'freshq/test/orders/task story']),
  );
  expect(new Set(names).size).toBe(names.length);
});
