import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OUTPUTS } from '../../infra/contract/tasks';
import { UNRELIABLE, withUnreliableRunner } from '../../infra/environments/list';
import { resolveSettings } from '../../infra/tasks/settings';
import { environment, ROOT } from './synthesis';

let out: string;

beforeEach(() => {
  out = mkdtempSync(join(tmpdir(), 'freshq-apps-'));
});

afterEach(() => {
  rmSync(out, { recursive: true, force: true });
});

/**
 * Runs an app's command in its directory, with the context in a variable, as the CDK CLI does. Lists the templates.
 */
function synthesize(directory: string, context: Record<string, unknown> = {}): string[] {
  const { app } = JSON.parse(readFileSync(join(directory, 'cdk.json'), 'utf8'));
  const [command, ...args] = String(app).split(' ');
  execFileSync(join(ROOT, 'node_modules', '.bin', command ?? ''), args, {
    cwd: directory,
    env: {
      ...process.env,
      FRESHQ_SKIP_BUILD: '1',
      CDK_OUTDIR: out,
      CDK_CONTEXT_JSON: JSON.stringify(context),
      CDK_VALIDATION: 'true',
    },
    stdio: 'pipe',
  });
  return readdirSync(out)
    .filter((file) => file.endsWith('.template.json'))
    .sort();
}

test('the app synthesizes both stacks of the environment that the context names', () => {
  expect(synthesize(ROOT, { env: 'dev', iotPresence: 'true' })).toEqual([
    'AgentQueue-dev.template.json',
    'LifoQueue-dev.template.json',
  ]);
  // The rule that creates tasks for connecting devices exists only with this context value.
  expect(readFileSync(join(out, 'LifoQueue-dev.template.json'), 'utf8')).toContain('AWS::IoT::TopicRule');
});

test('the context value unreliable gives dev a downstream that produces every task state', () => {
  synthesize(ROOT, { env: 'dev', unreliable: 'true' });
  const template = readFileSync(join(out, 'LifoQueue-dev.template.json'), 'utf8');
  const { capacity, rates } = UNRELIABLE;
  const runner = JSON.stringify({ kind: 'simulated', capacity, durationMs: 250, rates });
  expect(template).toContain(JSON.stringify(runner));
  expect(capacity).toBeLessThan(resolveSettings({}).processing.concurrency);
  expect(withUnreliableRunner(environment('prod'))).toEqual(environment('prod'));
});

test('the example app uses its own settings, its secret and a function that can create tasks', () => {
  expect(synthesize(join(ROOT, 'examples', 'cdk-app'))).toEqual(['Quotes.template.json']);
  const template = JSON.parse(readFileSync(join(out, 'Quotes.template.json'), 'utf8'));
  expect(Object.keys(template.Outputs)).toEqual(['ProducerFunctionName', ...OUTPUTS]);
  // biome-ignore lint/suspicious/noExplicitAny: a template is whatever CloudFormation takes
  const resources: any[] = Object.values(template.Resources);
  const processTasks = resources.find(({ Properties }) => Properties?.Environment?.Variables?.TASK_RUNNER);
  expect(JSON.parse(processTasks.Properties.Environment.Variables.SETTINGS_PROCESS_TASKS)).toMatchObject({
    defaultTtlMs: 120_000,
    maxAttempts: 2,
    concurrency: 25,
    taskTimeoutMs: 10_000,
  });
  expect(JSON.stringify(processTasks.Properties.Environment.Variables.TASK_RUNNER)).toMatch(
    /https:\/\/quotes\.example\.com\/refresh.*Authorization/,
  );
  const producers = resources.filter(
    ({ Type, Properties }) => Type === 'AWS::IAM::Policy' && Properties.PolicyName.startsWith('producer'),
  );
  expect(producers).toHaveLength(1);
  expect(producers[0].Properties.PolicyDocument.Statement).toMatchObject([
    {
      Action: 'lambda:InvokeFunction',
      Effect: 'Allow',
      Resource: { 'Fn::GetAtt': [expect.stringMatching(/createtasks/), 'Arn'] },
    },
  ]);
});
