import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lookedUp, prices as PRICES } from '../../crates/freshq/src/cost/prices.json';
import { AGENT_METRICS } from '../../infra/contract/agent-metrics';
import type { DeclaredMetric } from '../../infra/contract/declared-metric';
import { TASK_METRICS } from '../../infra/contract/task-metrics';
import { markdownTable } from '../infra/generated';
import { type Resource, ROOT, Synthesized } from '../infra/synthesis';

/** Minutes in an average month of 730 hours. */
const MINUTES = 730 * 60;
/** Receives per month from an empty queue: Lambda keeps five pollers, each of which waits 20 s for a message. */
const EMPTY_RECEIVES = 5 * 3 * MINUTES;

/** A cost that a deployed queue has even without tasks. */
interface Cost {
  readonly what: string;
  readonly count: number;
  readonly price: keyof typeof PRICES;
}

/** `make deploy` rejects `prod` without a recipient for its alarms. */
const ON_CALL = { alarmEmails: ['on-call@example.com'] };
const TASKS = costsOf(Synthesized.environment('prod', ON_CALL), TASK_METRICS);
const AGENTS = costsOf(Synthesized.agents('prod', ON_CALL), AGENT_METRICS);

export function fixedCostsPage(): string {
  return `# Fixed costs

Generated from the templates of \`prod\` with \`alarmEmails\` and the list prices in [prices.json](../../crates/freshq/src/cost/prices.json) by \`make docs\`. A deployed
queue has these costs each month, even without tasks. Free tiers are not deducted. The time, the reads and the logs of the sweep cost a few
cents more. An idle queue emits only the metrics of the sweep. Under load, a task queue emits up to ${declared(TASK_METRICS)} metrics, and an agents' queue up
to ${declared(AGENT_METRICS)}.

## Task queue

${costTable(TASKS)}

## Agents' queue

${costTable(AGENTS)}

## Keys

Each stack with \`alarmEmails\` creates an alarm topic with its own key. AWS rotates the key every year, and bills the first two rotations as one more key each.
With \`alarmTopicArn\`, or with \`alarmTopic\` in your own app, no key is created.

## Dashboards

CloudWatch's free tier covers three dashboards per account of up to 50 metrics each, so it does not cover that of a task queue. \`dashboard: false\` removes a dashboard.
`;
}

/** Returns the cost of each idle queue without its dashboard and the alarm topic's key, as quoted on other pages. */
export function quotedCosts(): readonly string[] {
  return [TASKS, AGENTS].map((costs) =>
    dollars(total(costs.filter(({ price }) => price !== 'dashboard' && price !== 'key'))),
  );
}

/** Returns the cost of an idle task queue with its dashboard and the alarm topic's key, as quoted in the README. */
export function idleCost(): string {
  return dollars(total(TASKS));
}

/** Returns the cost of traces, idle and for a million tasks in a month, for `docs/explanation/cost.md`. */
export function tracesTable(): string {
  const idle = total(TASKS);
  const loaded = costOfAMillionTasks();
  // Most of the traces of a load: each stream batch invokes `trigger`, and each ten messages invoke `ingest-tasks`.
  const recorded = tracesCost(MILLION) + tracesCost(MILLION / 10);
  const ofSweep = tracesCost(MINUTES, 730);
  const ofTasks = (0.01 * MILLION * PRICES.trace.price) / PRICES.trace.per;
  const row = (what: string, idle: number, loaded: number) => [what, dollars(idle), dollars(loaded)];
  return markdownTable(
    ['traces', 'idle task queue, per month', 'a million tasks in a month'],
    [
      row('none, the default', idle, loaded),
      row('`traces: {}`', idle, loaded + ofTasks + recorded),
      row('in earlier versions, even without `traces`', idle + ofSweep, loaded + recorded),
    ],
  );
}

const MILLION = 1_000_000;

/** Returns the first total for a million tasks of 100 bytes on the page that `freshq` generates. */
function costOfAMillionTasks(): number {
  const page = readFileSync(join(ROOT, 'docs', 'reference', 'load-costs.md'), 'utf8');
  const [, amount] = /^\| 1,000,000 \| 100 \| \$([\d.]+) \|/m.exec(page) ?? [];
  return Number(amount);
}

/**
 * Returns the cost of the traces that Lambda records if a function is invoked at random times in a month: the first
 * invocation in each second, and 5 % of the others.
 */
function tracesCost(invocations: number, hours = 720): number {
  const seconds = hours * 3_600;
  const first = seconds * (1 - Math.exp(-invocations / seconds));
  return ((first + 0.05 * (invocations - first)) * PRICES.trace.price) / PRICES.trace.per;
}

function costTable(costs: readonly Cost[]): string {
  const rows = costs.map((cost) => {
    const { price, unit } = PRICES[cost.price];
    return [
      cost.what,
      cost.count.toLocaleString('en-US'),
      `$${price.toFixed(2)} per ${unit}`,
      dollars(monthly(cost)),
    ];
  });
  const last = ['**total**', '', '', `**${dollars(total(costs))}**`];
  return markdownTable(['what', 'per month', `price in us-east-1, ${lookedUp}`, 'cost'], [...rows, last]);
}

function costsOf(template: Synthesized, metrics: Readonly<Record<string, DeclaredMetric>>): Cost[] {
  const schedules = template.all('AWS::Scheduler::Schedule').length;
  const [dashboard] = template.all('AWS::CloudWatch::Dashboard');
  const alarmed = template.all('AWS::CloudWatch::Alarm').map(metricsOf);
  const polled = template
    .all('AWS::Lambda::EventSourceMapping')
    .map((mapping) => pollPrice(template, mapping));
  const receives = polled.filter((price) => price !== undefined);
  return [
    { what: `metrics of ${alarmed.length} alarms`, count: sum(alarmed), price: 'alarmMetric' },
    { what: 'metrics that the sweep emits', count: emittedIdle(metrics), price: 'metric' },
    ...receives.map((price): Cost => ({ what: 'receives of an empty queue', count: EMPTY_RECEIVES, price })),
    { what: 'starts of the sweep by EventBridge Scheduler', count: schedules * MINUTES, price: 'schedule' },
    { what: 'invocations of the sweep', count: schedules * MINUTES, price: 'invocation' },
    { what: 'key of the alarm topic', count: template.all('AWS::KMS::Key').length, price: 'key' },
    ...(dashboard === undefined
      ? []
      : [
          {
            what: `dashboard with ${shown(template, dashboard)} metrics`,
            count: 1,
            price: 'dashboard',
          } as const,
        ]),
  ];
}

/** Returns the number of metrics in an alarm, by which CloudWatch bills a metric math alarm. */
function metricsOf({ Properties }: Resource): number {
  const queries: { MetricStat?: unknown }[] = Properties.Metrics ?? [{ MetricStat: Properties.MetricName }];
  return queries.filter(({ MetricStat }) => MetricStat !== undefined).length;
}

/** Returns the price of an event source's polls, if any. Lambda reads DynamoDB streams at no charge. */
function pollPrice(template: Synthesized, { Properties }: Resource): 'request' | 'fifoRequest' | undefined {
  const [id] = Properties.EventSourceArn['Fn::GetAtt'];
  const [, source] = template.resources.find(([logicalId]) => logicalId === id) ?? [];
  if (source?.Type !== 'AWS::SQS::Queue') return undefined;
  return source.Properties.FifoQueue ? 'fifoRequest' : 'request';
}

/** Returns the number of metrics of an idle queue: the sweep's measurements and count. Counters don't emit zeros. */
function emittedIdle(metrics: Readonly<Record<string, DeclaredMetric>>): number {
  const emitted = Object.entries(metrics).filter(
    ([name, { statistic, by }]) =>
      (statistic === 'Maximum' && by.some((name) => name.startsWith('sweep-'))) || /Sweeps$/.test(name),
  );
  return emitted.length;
}

function shown(template: Synthesized, { Properties }: Resource): number {
  const { widgets } = JSON.parse(template.readable(Properties.DashboardBody));
  const metrics = widgets.flatMap(
    ({ properties }: { properties: { metrics?: unknown[][] } }) => properties.metrics ?? [],
  );
  const named = metrics.filter(([namespace]: unknown[]) => typeof namespace === 'string');
  return new Set(
    named.map((metric: unknown[]) => JSON.stringify(metric.filter((part) => typeof part === 'string'))),
  ).size;
}

function declared(metrics: object): number {
  return Object.keys(metrics).length;
}

function monthly({ count, price }: Cost): number {
  return (count * PRICES[price].price) / PRICES[price].per;
}

function total(costs: readonly Cost[]): number {
  return sum(costs.map(monthly));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => one + other, 0);
}

function dollars(amount: number): string {
  return `$${amount.toFixed(2)}`;
}
