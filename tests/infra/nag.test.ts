import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { AgentQueue } from '../../infra/agents/agent-queue';
import { ENVIRONMENT_NAMES } from '../../infra/environments/list';
import {
  ACKNOWLEDGEMENTS,
  type Acknowledgement,
  acknowledgeFindings,
} from '../../infra/stacks/nag-suppressions';
import { LifoQueue } from '../../infra/tasks/lifo-queue';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { ShedQueue } from '../../infra/tasks/shed-queue';
import { expectCommitted, markdownTable } from './generated';
import { type Acknowledged, check, type Report } from './nag';
import { bothStacks, environment, newApp, ROOT } from './synthesis';
import { VARIANTS } from './variants';

const LISTED: readonly Acknowledgement[] = Object.values(ACKNOWLEDGEMENTS);

/** Returns every acknowledgement in an app: `rule at: reason`. */
function given(app: App): string[] {
  return app.node.findAll().flatMap((construct) =>
    construct.node.metadata
      .filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY)
      .flatMap(({ data }) => Object.entries(data as Record<string, string>))
      .map(([rule, reason]) => `${rule} ${construct.node.path}: ${reason}`),
  );
}

function told({ rule, at, reason }: Acknowledged): string {
  return `${rule} ${at}: ${reason}`;
}

const CASES: readonly (readonly [string, () => Stack])[] = [
  ...ENVIRONMENT_NAMES.map((name) => [name, () => bothStacks(environment(name))[0]] as const),
  ...Object.entries(VARIANTS).map(([name, build]) => {
    const acknowledging = () => {
      const stack = build();
      acknowledgeFindings(stack);
      return stack;
    };
    return [name, acknowledging] as const;
  }),
];
const reports = new Map<string, Report>();

describe.each(CASES)('%s', (name, build) => {
  const app = App.of(build()) as App;
  const report = check(app);
  reports.set(name, report);

  test('has no unacknowledged AwsSolutions or Serverless finding', () => {
    expect(report.findings).toEqual([]);
  });

  test('has a finding at the location of each acknowledgement', () => {
    const needed = new Set(report.acknowledged.map(told));
    expect(given(app).filter((acknowledgement) => !needed.has(acknowledgement))).toEqual([]);
    expect(needed.size).toBeGreaterThan(0);
  });
});

test('the listed acknowledgements are exactly those that the apps use', () => {
  const all = [...reports.values()].flatMap(({ acknowledged }) => acknowledged);
  const pairs = new Set(all.map(({ rule, reason }) => `${rule}: ${reason}`));
  const listed = LISTED.flatMap(({ rules, reason }) => rules.map((rule) => `${rule}: ${reason}`));
  expect([...pairs].sort()).toEqual(listed.sort());
});

test('only the stacks of infra/ acknowledge warnings and findings', () => {
  const sources = readdirSync(join(ROOT, 'infra'), { recursive: true, encoding: 'utf8' });
  const acknowledging = sources
    .filter((file) => file.endsWith('.ts'))
    .filter((file) =>
      /Validations\b|NagSuppressions|acknowledgeWarning/.test(
        readFileSync(join(ROOT, 'infra', file), 'utf8'),
      ),
    );
  expect(acknowledging.sort()).toEqual(['stacks/environment-stack.ts', 'stacks/nag-suppressions.ts']);
});

test('the constructs do not hide findings in your own app', () => {
  const stack = new Stack(newApp(), 'test');
  new LifoQueue(stack, 'queue', {
    runner: TaskRunner.simulated(),
    ingest: {},
    traces: {},
    pointInTimeRecovery: false,
  });
  new AgentQueue(stack, 'agents', { pointInTimeRecovery: false });
  new ShedQueue(stack, 'shed', { removalPolicy: RemovalPolicy.DESTROY });
  const { findings, acknowledged } = check(App.of(stack) as App);
  expect(acknowledged).toEqual([]);
  const rules = new Set(findings.map(({ rule }) => rule));
  expect([...rules].sort()).toEqual([...new Set(LISTED.flatMap(({ rules }) => rules))].sort());
});

test('the rules find an insecure queue in either stack', () => {
  const app = newApp();
  for (const stack of bothStacks(environment('prod'), app)) new Queue(stack, 'open');
  const found = check(app).findings.map(({ rule, path }) => `${rule} ${path}`);
  for (const stack of ['LifoQueue-prod', 'AgentQueue-prod']) {
    expect(found).toContain(`AwsSolutions::AwsSolutions-SQS4 ${stack}/open/Resource`);
    expect(found).toContain(`Serverless::Serverless-SQSRedrivePolicy ${stack}/open/Resource`);
  }
});

/** Returns the environments that need an acknowledgement, each with the number of findings. */
function places(rule: string, reason: string): string {
  return [...reports]
    .filter(([name]) => ENVIRONMENT_NAMES.some((environment) => environment === name))
    .map(([name, { acknowledged }]) => {
      const times = acknowledged.filter((each) => each.rule === rule && each.reason === reason).length;
      return times === 0 ? '' : `${name} ${times}`;
    })
    .filter((place) => place !== '')
    .join(', ');
}

test('docs/reference/cdk-nag-suppressions.md lists all acknowledgements', () => {
  const says = new Map(
    [...reports.values()].flatMap(({ acknowledged }) => acknowledged.map(({ rule, says }) => [rule, says])),
  );
  const rows = LISTED.flatMap(({ rules, where, reason }) =>
    rules.map((rule) => {
      const name = rule.slice(rule.indexOf('::') + 2);
      return [`\`${name}\``, says.get(rule) ?? '', where, places(rule, reason), `${reason}.`];
    }),
  );
  expectCommitted(
    'docs/reference/cdk-nag-suppressions.md',
    `# Acknowledged findings of cdk-nag

Written by \`make docs\` from [infra/stacks/nag-suppressions.ts](../../infra/stacks/nag-suppressions.ts) and from the findings of cdk-nag in
the templates of all environments, with the packs AwsSolutions and Serverless. A test fails if a finding is in no row, if an
acknowledgement has no finding, or if this file is out of date. Nothing else is suppressed.

The constructs acknowledge nothing: in your own CDK app, cdk-nag reports these findings, and you acknowledge them there.

${markdownTable(['rule', 'finding', 'resource', 'found in', 'reason for the acknowledgement'], rows)}
`,
  );
});
