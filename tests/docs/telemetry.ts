import { AGENT_LINES } from '../../infra/agents/telemetry/log-lines';
import { AGENT_QUERIES } from '../../infra/agents/telemetry/queries';
import { AGENT_METRICS } from '../../infra/contract/agent-metrics';
import type { DeclaredMetric } from '../../infra/contract/declared-metric';
import { TASK_METRICS } from '../../infra/contract/task-metrics';
import { METRICS } from '../../infra/contract/tasks';
import { EVERY_LINE, type LogLine } from '../../infra/shared/telemetry/log-line';
import { type SavedQuery, textOf } from '../../infra/shared/telemetry/saved-queries';
import { TASK_LINES } from '../../infra/tasks/telemetry/log-lines';
import { GROUP_QUERIES, TASK_QUERIES } from '../../infra/tasks/telemetry/queries';
import { markdownTable } from '../infra/generated';
import { Synthesized } from '../infra/synthesis';

const INTRODUCTION = `# Telemetry

What the queues report: metrics, log lines, dashboards, saved queries and traces. This page is a contract. A change of a name or of a
meaning here is named in the changelog. \`make docs\` writes the page from the declarations in \`infra/*/telemetry\`, and tests compare
these with the Rust sources and with the logs of a deployed queue.

## Names

- Metrics are in CloudWatch's namespace \`${METRICS.namespace}\`. Their one dimension \`${METRICS.dimension}\` is the name of the queue's
  table: output \`QueueTableName\` or \`AgentTableName\`. The functions write them to their logs in the embedded metric format, without a
  call. CloudWatch bills 0.30 USD per metric per month that had a value.
- Each function logs JSON to its own log group, one line per event. \`logs.level\` sets the minimum level.
- The output \`DashboardUrl\` leads to the dashboard. \`dashboard: false\` of a queue, or \`dashboards: false\` of an environment, disables
  it: CloudWatch bills 3 USD per dashboard per month ([free tier](fixed-costs.md#dashboards)). Personal stacks have none.
- \`processing.loggedSuccesses\` omits lines \`run ended\` of a random share of successful runs. Metrics, alarms and dashboards always count every
  run. Of the saved queries, *failures by response* stays exact, *task story* may lack the last run, *slowest runs*,
  *age at start* and *busiest groups* see a sample of the successes and all other runs.
- [Traces](../how-to/traces.md) are off by default. Their segments have the name of the function, and the annotations \`task_id\`, \`attempt\` and \`response\`.
- Saved queries are in CloudWatch, Logs Insights, Saved queries, folder \`freshq/<stack>/queue\`. A query that is not run costs nothing;
  one that runs costs what Logs Insights bills for the bytes that it scans.

## Fields of every line

${markdownTable(
  ['field', 'meaning'],
  Object.entries(EVERY_LINE).map(([name, meaning]) => [`\`${name}\``, meaning]),
)}

Most lines of the levels WARN and ERROR also have \`error\` or \`reason\`: what failed, with its causes. The line of a run does not quote the
downstream's response, which may quote the payload: the task's \`lastError\` has it. Lines that are not below may change at any time.`;

function metricsTable(metrics: Readonly<Record<string, DeclaredMetric>>): string {
  return markdownTable(
    ['metric', 'unit', 'statistic', 'by', 'meaning'],
    Object.entries(metrics).map(([name, { unit, statistic, by, meaning }]) => [
      `\`${name}\``,
      unit,
      statistic,
      by.join(', '),
      meaning,
    ]),
  );
}

function line({ message, level, by, when, fields }: LogLine): string {
  const rows = Object.entries(fields).map(([name, meaning]) => [`\`${name}\``, meaning]);
  return `#### \`${message}\`\n\n${level}, by ${by.join(', ')}: ${when}.\n\n${markdownTable(['field', 'meaning'], rows)}`;
}

function savedQuery(query: SavedQuery): string {
  const { name, shows, of } = query;
  return `#### ${name}\n\nShows ${shows}. Reads the logs of ${of.join(', ')}.\n\n\`\`\`text\n${textOf(query)}\n\`\`\``;
}

function dashboard(synthesized: Synthesized): string {
  const { DashboardBody } = synthesized.at('observability/dashboard').Properties;
  const { widgets } = JSON.parse(synthesized.readable(DashboardBody));
  const rows: [string, string, string[]][] = [];
  for (const { properties } of widgets) {
    const [, heading, question] = /^## (.*)\n(.*)/.exec(properties.markdown ?? '') ?? [];
    if (heading !== undefined && question !== undefined) rows.push([heading, question, []]);
    else rows.at(-1)?.[2].push(properties.title);
  }
  return markdownTable(
    ['section', 'question', 'graphs'],
    rows.map(([heading, question, graphs]) => [heading, question, graphs.join('; ')]),
  );
}

function section(
  heading: string,
  synthesized: Synthesized,
  metrics: Readonly<Record<string, DeclaredMetric>>,
  lines: Readonly<Record<string, LogLine>>,
  queries: Readonly<Record<string, SavedQuery>>,
): string {
  return [
    `## ${heading}`,
    `### Metrics\n\n${metricsTable(metrics)}`,
    '### Lines of the logs',
    ...Object.values(lines).map(line),
    `### Dashboard\n\nThe states of all alarms are the first row. A graph of a metric with an alarm shows the alarm's threshold.\n\n${dashboard(synthesized)}`,
    '### Saved queries',
    ...Object.values(queries).map(savedQuery),
  ].join('\n\n');
}

/** Returns the content of `docs/reference/telemetry.md`. */
export function telemetryPage(): string {
  const page = [
    INTRODUCTION,
    section('Task queue', Synthesized.environment('prod'), TASK_METRICS, TASK_LINES, {
      ...TASK_QUERIES,
      ...GROUP_QUERIES,
    }),
    section("Agents' queue", Synthesized.agents('prod'), AGENT_METRICS, AGENT_LINES, AGENT_QUERIES),
  ];
  return `${page.join('\n\n')}\n`;
}
