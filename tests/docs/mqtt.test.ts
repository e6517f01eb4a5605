import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { ROOT } from './files';
import { run } from './run';

// The code block in docs/how-to/mqtt.md. Because no emulator evaluates IoT rule statements, this test compares the
// statement with the fields that ingest-tasks accepts.
const page = readFileSync(join(ROOT, 'docs', 'how-to', 'mqtt.md'), 'utf8');
const [, source = ''] = /^```ts\n([\s\S]*?)^```$/m.exec(page) ?? [];

const stack = new Stack(new App({ context: { 'aws:cdk:bundling-stacks': [] } }), 'test');
const { example } = run(source);
(example as (stack: Stack) => unknown)(stack);
const template = Template.fromStack(stack);
const [rule] = Object.values(template.findResources('AWS::IoT::TopicRule'));
const { Sql, AwsIotSqlVersion, Actions, ErrorAction } = rule?.Properties.TopicRulePayload ?? {};

/** Returns the message that the rule builds from a request if IoT evaluates the columns as documented. */
function message(topic: string, request: Record<string, unknown>): Record<string, unknown> {
  const value = (text: string): unknown => {
    const level = /^topic\((\d)\)$/.exec(text)?.[1];
    if (level) return topic.split('/')[Number(level) - 1];
    return /^\d+$/.test(text) ? Number(text) : request[text];
  };
  const [, columns = ''] = /^SELECT (.+) FROM '.+'$/.exec(Sql) ?? [];
  return Object.fromEntries(
    [...columns.matchAll(/(\{[^}]*\}|[^,{}]+) AS (\w+)/g)].map(([, expression = '', name = '']) => {
      const literal = [...expression.matchAll(/'(\w+)': ([\w()]+)/g)];
      return literal.length > 0
        ? [name, Object.fromEntries(literal.map(([, field = '', text = '']) => [field, value(text)]))]
        : [name, value(expression.trim())];
    }),
  );
}

test('the rule builds a task with only the fields that ingest-tasks accepts', () => {
  const spec = readFileSync(join(ROOT, 'crates', 'lifo-queue', 'src', 'create', 'spec.rs'), 'utf8');
  const fields = [...(/const FIELDS: .*?= \[([\s\S]*?)\];/.exec(spec)?.[1] ?? '').matchAll(/"(\w+)"/g)];
  const built = message('devices/meter-1/requests', { sequence: 17, meter: 4711 });
  expect(built).toEqual({
    key: 'meter-1',
    sequence: 17,
    ttlSeconds: 120,
    payload: { thing: 'meter-1', sequence: 17, meter: 4711 },
  });
  expect(fields.map(([, name]) => name)).toEqual(expect.arrayContaining(Object.keys(built)));
});

test('the rule sends plain JSON to the ingest queue and has a role with permission to send', () => {
  expect(AwsIotSqlVersion).toBe('2016-03-23');
  const queues = [Actions[0].Sqs, ErrorAction.Sqs].map(({ QueueUrl, UseBase64, RoleArn }) => {
    expect([UseBase64, RoleArn['Fn::GetAtt'][0]]).toEqual([false, expect.stringMatching(/^rulerole/)]);
    return QueueUrl.Ref as string;
  });
  expect(queues[0]).toMatch(/^tasksingestqueue/);
  const policies = Object.values(template.findResources('AWS::IAM::Policy'));
  const sending = policies
    .filter(({ Properties }) =>
      Properties.Roles.some(({ Ref }: { Ref: string }) => Ref.startsWith('rulerole')),
    )
    .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
    .filter(({ Action }) => [Action].flat().includes('sqs:SendMessage'))
    .map(({ Resource }) => Resource['Fn::GetAtt'][0]);
  expect(sending.sort()).toEqual([...queues].sort());
});

test("the runner publishes the task's result to the results topic of the requesting device", async () => {
  const [code] = Object.values(template.findResources('AWS::Lambda::Function'))
    .map(({ Properties }) => Properties.Code.ZipFile)
    .filter((text) => typeof text === 'string' && text.includes('PublishCommand'));
  const published: Record<string, unknown>[] = [];
  const sdk = {
    IoTDataPlaneClient: class {
      async send(command: { input: Record<string, unknown> }) {
        published.push(command.input);
      }
    },
    PublishCommand: class {
      constructor(readonly input: Record<string, unknown>) {}
    },
  };
  const { handler } = run(code, () => sdk);
  const { payload } = message('devices/meter-1/requests', { sequence: 17, meter: 4711 });
  expect(await (handler as (task: unknown) => unknown)({ payload })).toEqual({ outcome: 'success' });
  expect(published).toEqual([
    { topic: 'devices/meter-1/results', qos: 1, payload: '{"sequence":17,"ok":true,"tariff":"night"}' },
  ]);
});
