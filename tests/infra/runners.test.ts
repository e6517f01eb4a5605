import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Duration, Stack } from 'aws-cdk-lib';
import { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { SecurityGroup, Vpc } from 'aws-cdk-lib/aws-ec2';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import URLS from '../../crates/lifo-queue/src/runner/http/urls.json';
import type { ITaskRunner } from '../../infra/tasks/runners/binding';
import type { HttpRunnerProps } from '../../infra/tasks/runners/http';
import { HttpAuth, RESERVED_HEADERS } from '../../infra/tasks/runners/http-auth';
import type { SimulatedRates } from '../../infra/tasks/runners/rates';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { resolveSettings } from '../../infra/tasks/settings';
import { newApp, ROOT, Synthesized } from './synthesis';

const SETTINGS = resolveSettings({});
const URL_OF_TASKS = 'https://tasks.example.com/run';

function rejected(runner: ITaskRunner): string[] {
  return runner._problems(SETTINGS).map(({ setting }) => setting);
}

function described(synthesized: Synthesized) {
  return JSON.parse(synthesized.readable(synthesized.fn('process-tasks').Environment.Variables.TASK_RUNNER));
}

function http(props: Partial<HttpRunnerProps> = {}): ITaskRunner {
  return TaskRunner.http({ url: URL_OF_TASKS, ...props });
}

/** Statements that the runner adds to the process-tasks policy. */
function addedStatements(synthesized: Synthesized) {
  return synthesized.policy('process-tasks/role').slice(6);
}

describe('simulated', () => {
  test('describes the rates of unsuccessful runs only if there are any', () => {
    const of = (rates: SimulatedRates) =>
      described(Synthesized.queue({ runner: TaskRunner.simulated({ rates }) }));
    expect(of({ failure: 0.1, busy: undefined })).toMatchObject({ rates: { failure: 0.1 } });
    expect(of({ failure: 0, retry: 0 })).not.toHaveProperty('rates');
  });

  test('rejects rates outside 0 to 1 and a total above 1', () => {
    const rates = (given: SimulatedRates) => rejected(TaskRunner.simulated({ rates: given }));
    expect(rates({ failure: 0.5, retry: 0.25, busy: 0.25 })).toEqual([]);
    expect(rates({ retry: -0.1, busy: 2 })).toEqual(['runner.rates.retry', 'runner.rates.busy']);
    expect(rates({ retry: 0.6, busy: 0.5 })).toEqual(['runner.rates']);
  });

  test('describes its capacity and duration', () => {
    const runner = TaskRunner.simulated({ capacity: 7, duration: Duration.millis(20) });
    const synthesized = Synthesized.queue({ runner });
    expect(described(synthesized)).toEqual({ kind: 'simulated', capacity: 7, durationMs: 20 });
    expect(addedStatements(synthesized)).toEqual([]);
  });

  test('rejects a capacity of zero and a duration that always reaches the task timeout', () => {
    expect(rejected(TaskRunner.simulated({ capacity: 0 }))).toEqual(['runner.capacity']);
    expect(rejected(TaskRunner.simulated({ duration: Duration.seconds(30) }))).toEqual(['runner.duration']);
  });
});

describe('http', () => {
  test('requires no permissions without authentication', () => {
    const synthesized = Synthesized.queue({ runner: http() });
    expect(described(synthesized)).toEqual({ kind: 'http', url: URL_OF_TASKS });
    expect(addedStatements(synthesized)).toEqual([]);
    expect(synthesized.fn('process-tasks').VpcConfig).toBeUndefined();
  });

  test('accepts a URL that is known only at deployment', () => {
    const synthesized = Synthesized.of((stack) => ({
      runner: http({ url: `${new HttpApi(stack, 'api').apiEndpoint}/run` }),
    }));
    expect(described(synthesized).url).toBe('api.ApiEndpoint/run');
  });

  // A unit test of the function's parser reads the same file.
  test.each(URLS.accepted)('accepts %s', (url) => {
    expect(rejected(http({ url }))).toEqual([]);
  });

  test.each(URLS.rejected)('rejects "%s", as the function does', (url) => {
    expect(new Set(rejected(http({ url })))).toEqual(new Set(['runner.url']));
  });

  test.each([
    ['tasks.example.com/run', /is not an http\(s\) address/],
    ['', /is not an http\(s\) address/],
    ['ftp://tasks.example.com', /is not an http\(s\) address/],
    ['http://tasks.example.com/run', /unencrypted/],
    ['http://127.0.0.1.example.com/run', /unencrypted/],
    ['https:/tasks.example.com/run', /does not contain the host tasks\.example\.com in full/],
    ['http://127.1:9/', /does not contain the host 127\.0\.0\.1 in full/],
    ['https://tasks.example.com/a b', /must percent-encode/],
    ['https://user:secret@tasks.example.com', /show the credentials in the address/],
  ])('rejects "%s"', (url, rule) => {
    const [problem, ...others] = http({ url })._problems(SETTINGS);
    expect(others).toEqual([]);
    expect(problem).toMatchObject({ setting: 'runner.url', rule: expect.stringMatching(rule) });
  });

  test('runs in the given VPC with network permissions that the code itself cannot use', () => {
    const synthesized = Synthesized.of((stack) => {
      const vpc = new Vpc(stack, 'vpc', { natGateways: 1 });
      const securityGroups = [new SecurityGroup(stack, 'group', { vpc })];
      return { runner: http({ vpc, securityGroups }) };
    });
    const { SecurityGroupIds, SubnetIds } = synthesized.fn('process-tasks').VpcConfig;
    expect(SecurityGroupIds.map((id: unknown) => synthesized.readable(id))).toEqual(['group.GroupId']);
    expect(SubnetIds).toHaveLength(2);
    const network = synthesized
      .policy('process-tasks/role')
      .filter(({ actions }) => actions[0]?.startsWith('ec2:'));
    const actions = [
      'ec2:CreateNetworkInterface',
      'ec2:DeleteNetworkInterface',
      'ec2:DescribeNetworkInterfaces',
      'ec2:DescribeSubnets',
      'ec2:AssignPrivateIpAddresses',
      'ec2:UnassignPrivateIpAddresses',
    ];
    const byCode = { ArnLike: { 'lambda:SourceFunctionArn': expect.anything() } };
    expect(network).toEqual([
      { effect: 'Allow', resources: ['*'], actions },
      { effect: 'Deny', resources: ['*'], actions, conditions: byCode },
    ]);
    const [, denied] = network as { conditions?: typeof byCode }[];
    expect(synthesized.readable(denied?.conditions?.ArnLike['lambda:SourceFunctionArn'])).toBe(
      'arn:AWS::Partition:lambda:AWS::Region:AWS::AccountId:function:*',
    );
    expect(synthesized.fn('trigger').VpcConfig).toBeUndefined();
  });

  test('rejects security groups without a VPC', () => {
    const stack = new Stack(newApp(), 'test');
    const group = SecurityGroup.fromSecurityGroupId(stack, 'group', 'sg-12345678');
    expect(rejected(http({ securityGroups: [group] }))).toEqual(['runner.securityGroups']);
  });
});

describe('http with a secret header', () => {
  test('allows reading only the given secret', () => {
    const synthesized = Synthesized.of((stack) => ({
      runner: http({ auth: HttpAuth.header({ secret: new Secret(stack, 'token') }) }),
    }));
    expect(addedStatements(synthesized)).toEqual([
      { effect: 'Allow', actions: ['secretsmanager:GetSecretValue'], resources: ['token'] },
    ]);
    expect(described(synthesized).auth).toEqual({
      kind: 'header',
      name: 'Authorization',
      secretArn: 'token',
    });
  });

  test('accepts a secret that is imported by name', () => {
    const synthesized = Synthesized.of((stack) => {
      const secret = Secret.fromSecretNameV2(stack, 'token', 'quotes/key');
      return { runner: http({ auth: HttpAuth.header({ name: 'X-Api-Key', secret }) }) };
    });
    const [{ resources } = { resources: [] }] = addedStatements(synthesized);
    expect(resources).toEqual([expect.stringMatching(/:secret:quotes\/key-\?\?\?\?\?\?$/)]);
  });

  test("allows decryption with the secret's key through Secrets Manager only", () => {
    const synthesized = Synthesized.of((stack) => {
      const secret = new Secret(stack, 'token', { encryptionKey: new Key(stack, 'key') });
      return { runner: http({ auth: HttpAuth.header({ secret }) }) };
    });
    expect(addedStatements(synthesized)[1]).toMatchObject({
      actions: ['kms:Decrypt'],
      resources: ['key.Arn'],
      conditions: { StringEquals: { 'kms:ViaService': expect.anything() } },
    });
  });

  test.each(['X Api Key', '', 'Idempotency-Key', 'Freshq-Attempt', 'HOST', 'content-type'])(
    'rejects the header "%s"',
    (name) => {
      const stack = new Stack(newApp(), 'test');
      const auth = HttpAuth.header({ name, secret: new Secret(stack, 'token') });
      expect(rejected(http({ auth }))).toEqual(['runner.auth.name']);
    },
  );
});

test('Rust and TypeScript reserve the same header names', () => {
  const rust = readFileSync(join(ROOT, 'crates', 'lifo-queue', 'src', 'runner', 'http', 'auth.rs'), 'utf8');
  const [, list] = rust.match(/const RESERVED: \[&str; \d+\] = \[([^\]]*)\]/) ?? [];
  const named: Record<string, string> = {
    'super::IDEMPOTENCY_KEY': 'idempotency-key',
    'super::ATTEMPT': 'freshq-attempt',
  };
  const names = (list ?? '')
    .split(',')
    .map((name) => name.trim().replaceAll('"', ''))
    .filter((name) => name !== '')
    .map((name) => named[name] ?? name);
  expect(names.length).toBeGreaterThan(0);
  expect(RESERVED_HEADERS).toEqual(names);
});

describe('http with SigV4', () => {
  const resources = ['arn:aws:execute-api:eu-west-1:123456789012:abc/*/POST/run'];

  test('allows the given actions and signs for the stack’s region', () => {
    const auth = HttpAuth.sigV4({ service: 'execute-api', actions: ['execute-api:Invoke'], resources });
    const synthesized = Synthesized.queue({ runner: http({ auth }) });
    expect(addedStatements(synthesized)).toEqual([
      { effect: 'Allow', actions: ['execute-api:Invoke'], resources },
    ]);
    expect(described(synthesized).auth).toEqual({
      kind: 'sigv4',
      service: 'execute-api',
      region: 'AWS::Region',
    });
  });

  test('signs for a configured region', () => {
    const auth = HttpAuth.sigV4({
      service: 'lambda',
      region: 'eu-west-1',
      actions: ['lambda:InvokeFunctionUrl'],
      resources,
    });
    const synthesized = Synthesized.queue({ runner: http({ auth }) });
    expect(described(synthesized).auth.region).toBe('eu-west-1');
  });

  test('rejects an invalid service name and a missing action', () => {
    const wrong = HttpAuth.sigV4({ service: 'Execute API', actions: [], resources });
    expect(rejected(http({ auth: wrong }))).toEqual(['runner.auth.service', 'runner.auth.actions']);
  });
});

test('prints a warning about a key in the query of a URL', () => {
  const warnings = (url: string) => Synthesized.queue({ runner: http({ url }) }).warnings();
  const [first, second, ...others] = warnings(`${URL_OF_TASKS}?region=eu&api_key=1&code=2&tokenize=no`);
  expect(first).toMatch(/query parameter "api_key" .* HttpAuth.header/);
  expect(second).toMatch(/query parameter "code"/);
  expect(others).toEqual([]);
  expect(warnings(`${URL_OF_TASKS}?to=a`)).toEqual([]);
});
