import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENVIRONMENT } from '../../infra/contract/tasks';
import { markdownTable } from '../infra/generated';
import { KINDS, type Synthesized } from '../infra/synthesis';
import { ROOT } from './files';
import { slug } from './slug';

/** The prod templates, which contain every part that an environment of this repository can have. */
const QUEUES = KINDS.map(({ kind, synthesize, functions }) => ({
  title: kind === 'LifoQueue' ? 'Task queue' : 'Agents’ queue',
  template: synthesize('prod'),
  functions,
}));

const code = (text: unknown) => `\`${String(text)}\``;

function pages(
  head: string,
  columns: readonly string[],
  rows: (queue: (typeof QUEUES)[number]) => string[][],
) {
  return `${head}\n\n${QUEUES.map((queue) => `## ${queue.title}\n\n${markdownTable(columns, rows(queue))}`).join('\n\n')}\n`;
}

export function alarmsPage(): string {
  return pages(
    `# Alarms

Generated from the templates of \`prod\` by \`make docs\`. Thresholds follow the settings \`alarms\`, so yours may differ.
The sections of the runbooks describe the actions.`,
    ['alarm', 'fires when', 'section'],
    ({ template }) =>
      template.resources
        .filter(([, { Type }]) => Type === 'AWS::CloudWatch::Alarm')
        .map(([, { Properties, Metadata }]) => {
          const name = /([^/]+)-alarm\/Resource$/.exec(Metadata?.['aws:cdk:path'] ?? '')?.[1] ?? '';
          const [, says = '', page = '', section = ''] =
            /^(.*?) First .*More: docs\/(\S+), "(.+)"\.$/s.exec(Properties.AlarmDescription) ?? [];
          return [
            code(name),
            `${condition(Properties)}: ${says}`,
            `[${section}](../${page}#${slug(section)})`,
          ];
        })
        .sort(([one = ''], [other = '']) => one.localeCompare(other)),
  );
}

interface Query {
  readonly MetricStat?: { readonly Period: number };
}

// biome-ignore lint/suspicious/noExplicitAny: a template is whatever CloudFormation takes
function condition(alarm: any): string {
  const than = alarm.ComparisonOperator === 'LessThanThreshold' ? '<' : '>';
  const metric = alarm.MetricName ?? 'metric math';
  const period = alarm.Period ?? alarm.Metrics.find(({ MetricStat }: Query) => MetricStat).MetricStat.Period;
  const [all, breaching = all] = [alarm.EvaluationPeriods, alarm.DatapointsToAlarm];
  const periods = breaching === all ? all : `${breaching} of ${all}`;
  return `${code(metric)} ${than} ${alarm.Threshold}, ${periods} × ${period} s`;
}

export function outputsPage(): string {
  return pages(
    `# Stack outputs

Generated from the templates of \`prod\` by \`make docs\`. Read them with \`aws cloudformation describe-stacks\`.`,
    ['output', 'meaning'],
    ({ template }) =>
      Object.entries(template.outputs as Record<string, { Description?: string }>).map(([name, output]) => [
        code(name),
        output.Description ?? '',
      ]),
  );
}

export function variablesPage(): string {
  return pages(
    `# Environment variables

Generated from the templates of \`prod\` and from \`crates/functions\` by \`make docs\`. The constructs set these variables. You
change the [settings](settings.md), never the variables. A function rejects missing and malformed variables at its start, all of
them together.

A function has its settings as JSON in \`SETTINGS_<FUNCTION>\`, for example
\`{"turnMs":60000,"retry":{"baseMs":1000,"maxMs":300000},…}\`. \`settings\` of [tests/contract.json](../../tests/contract.json) has the
defaults of every function. Names that end in \`Ms\` are whole milliseconds. A function reports the path of the first wrong setting. It
logs the names of settings that it does not know, and continues.

For \`make\`: \`FRESHQ_SKIP_BUILD=1\` synthesizes without building the functions; \`FRESHQ_ARTIFACTS\` is the folder of built
functions; \`AWS_PROFILE\` and \`AWS_REGION\` select account and region, as for the AWS CLI.`,
    ['variable', 'meaning', 'functions'],
    ({ template, functions }) => {
      const readers = new Map<string, string[]>();
      for (const name of functions) {
        for (const variable of variables(template, name)) {
          readers.set(variable, [...(readers.get(variable) ?? []), name]);
        }
      }
      return [...readers]
        .sort(([one], [other]) => one.localeCompare(other))
        .map(([variable, names]) => [
          code(variable),
          MEANINGS.get(variable) ?? '',
          names.map(code).join(', '),
        ]);
    },
  );
}

function variables(template: Synthesized, name: string): string[] {
  const given = Object.keys(template.fn(name).Environment?.Variables ?? {});
  const known: readonly string[] = Object.entries(ENVIRONMENT).find(([each]) => each === name)?.[1] ?? [];
  return [...new Set([...given, ...known])].filter((variable) => MEANINGS.has(variable));
}

/** Meaning of each environment variable, from `crates/functions`. */
const MEANINGS = new Map(
  [
    ...readFileSync(join(ROOT, 'crates', 'functions', 'src', 'config', 'variable.rs'), 'utf8').matchAll(
      /^\s+([A-Z_]+): "((?:[^"\\]|\\.)*)",$/gm,
    ),
  ].map(([, name = '', meaning = '']) => [name, meaning.replaceAll('\\"', '"')]),
);
