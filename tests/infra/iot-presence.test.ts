import { ENVIRONMENT_NAMES, withIotPresence } from '../../infra/environments/list';
import { iotPresenceSql } from '../../infra/tasks/ingest/iot-presence-sql';
import { environment, Synthesized } from './synthesis';

const dev = Synthesized.environment('dev', withIotPresence(environment('dev')));
const [rule, ...others] = dev.all('AWS::IoT::TopicRule');
const payload = rule?.Properties.TopicRulePayload;

test('the stack has no IoT rule unless it is requested', () => {
  expect(Synthesized.queue({ ingest: {} }).all('AWS::IoT::TopicRule')).toEqual([]);
  for (const name of ENVIRONMENT_NAMES)
    expect(Synthesized.environment(name).all('AWS::IoT::TopicRule')).toEqual([]);
});

test('the rule matches every device that connects, even with a slash in its name, and creates a message for ingest-tasks', () => {
  expect(payload.Sql).toBe(iotPresenceSql(false));
  expect(payload.AwsIotSqlVersion).toBe('2016-03-23');
  expect(payload.Sql).toMatch(/ FROM '\$aws\/events\/presence\/connected\/#'$/);
  for (const field of ['key', 'sequence', 'taskCreated', 'payload'])
    expect(payload.Sql).toMatch(` AS ${field}`);
  expect(payload.RuleDisabled).toBeUndefined();
  expect(rule?.Properties.RuleName).toBeUndefined();
  expect(others).toEqual([]);
});

test('in a queue with groups, all devices are one group', () => {
  const [grouped] = Synthesized.queue({
    ingest: { iotPresence: true },
    processing: { groups: {} },
  }).all('AWS::IoT::TopicRule');
  expect(grouped?.Properties.TopicRulePayload.Sql).toBe(
    payload.Sql.replace('SELECT ', "SELECT 'iot-presence' AS group, "),
  );
});

test('the rule sends plain JSON to the ingest queue and failed events to a failure queue', () => {
  expect(payload.Actions).toHaveLength(1);
  const [{ Sqs: action }] = payload.Actions;
  expect(dev.readable(action.QueueUrl)).toBe('ingest/queue');
  const { Sqs: error } = payload.ErrorAction;
  expect(dev.readable(error.QueueUrl)).toBe('ingest/iot-presence/failures');
  for (const { UseBase64, RoleArn } of [action, error]) {
    expect(UseBase64).toBe(false);
    expect(dev.readable(RoleArn)).toBe('ingest/iot-presence/role.Arn');
  }
});

test("the rule's role allows only sending to these two queues, and only rules in this account can use it", () => {
  const { AssumeRolePolicyDocument } = dev.at('ingest/iot-presence/role').Properties;
  expect(AssumeRolePolicyDocument.Statement).toEqual([
    {
      Action: 'sts:AssumeRole',
      Effect: 'Allow',
      Principal: { Service: 'iot.amazonaws.com' },
      Condition: {
        StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } },
        ArnLike: { 'aws:SourceArn': expect.anything() },
      },
    },
  ]);
  const [{ Condition }] = AssumeRolePolicyDocument.Statement;
  expect(dev.readable(Condition.ArnLike['aws:SourceArn'])).toBe(
    'arn:AWS::Partition:iot:AWS::Region:AWS::AccountId:rule/*',
  );
  expect(dev.policy('ingest/iot-presence/role')).toEqual(
    ['ingest/queue.Arn', 'ingest/iot-presence/failures.Arn'].map((queue) => ({
      effect: 'Allow',
      actions: ['sqs:SendMessage'],
      resources: [queue],
    })),
  );
});

test("CloudFormation creates the rule after its role's policy", () => {
  const dependencies = rule?.DependsOn?.map((logicalId) => dev.readable({ Ref: logicalId }));
  expect(dependencies).toContain('ingest/iot-presence/role/DefaultPolicy');
});

test('CloudFormation creates the rule after the functions that support keys', () => {
  const dependencies = rule?.DependsOn?.map((logicalId) => dev.readable({ Ref: logicalId }));
  for (const name of ['ingest-tasks', 'create-tasks', 'trigger', 'process-tasks', 'sweep-tasks'])
    expect(dependencies).toContain(`${name}/function`);
});

test("the rule's failure queue has an alarm", () => {
  const { Dimensions } = dev.at('observability/iot-presence-failures-alarm').Properties;
  expect(dev.readable(Dimensions[0].Value)).toBe('ingest/iot-presence/failures.QueueName');
});
