import { Annotations, Aws, Stack, Token } from 'aws-cdk-lib';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { CfnTopic, CfnTopicPolicy, type ITopic, TopicPolicy } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { type Problem, problemIf } from '../problem';
import { regionProblem } from '../region';

/** Id of the warning that {@link connectAlarms} adds. */
export const NO_ALARM_TOPIC = 'freshq:no-alarm-topic';

const CLOUDWATCH = 'cloudwatch.amazonaws.com';
/** The AWS managed key for SNS, whose policy doesn't allow CloudWatch. No statement can be added to it. */
const MANAGED_KEY = /(^|[:/])alias\/aws\/sns$/;

/** Returns the problems with a topic to which the CloudWatch alarms of a queue in `region` publish. */
export function alarmTopicProblems(topic: ITopic | undefined, region: string): Problem[] {
  if (topic === undefined) return [];
  const setting = 'alarmTopic';
  return [
    ...problemIf(
      !(Token.isUnresolved(topic.fifo) || !topic.fifo),
      setting,
      'CloudWatch alarms cannot publish to a FIFO topic',
      'use a standard topic',
    ),
    ...problemIf(
      keysOf(topic).some((key) => MANAGED_KEY.test(key)),
      setting,
      'the AWS managed key alias/aws/sns does not allow CloudWatch to publish to the topic',
      'use your own KMS key, to which the queue adds this permission, or no key',
    ),
    ...regionProblem(
      setting,
      topic,
      region,
      (here, there) => `alarms in ${here} cannot publish to a topic in ${there}`,
      (here) => `use a topic in ${here}`,
    ),
  ];
}

/**
 * Warns if a queue's alarms have no topic. Otherwise, lets them publish to a topic that has a policy, for example from
 * `enforceSSL`, and use its key. The default SNS policy allows publishing, but a policy of the app replaces it.
 */
export function connectAlarms(queue: Construct, topic: ITopic | undefined): void {
  if (topic === undefined) {
    Annotations.of(queue).addWarningV2(
      NO_ALARM_TOPIC,
      'the alarms of this queue have no recipient, so only the CloudWatch console shows them: set alarmTopic',
    );
    return;
  }
  for (const { node } of policiesOf(topic)) {
    if (node.scope instanceof TopicPolicy) {
      node.scope.document.addStatements(forCloudWatch(['sns:Publish'], topic.topicArn));
    }
  }
  // In a key policy, * means this key.
  const key = topic.masterKey?.addToResourcePolicy(
    forCloudWatch(['kms:Decrypt', 'kms:GenerateDataKey*'], '*'),
  );
  if (key?.statementAdded === false) {
    Annotations.of(queue).addWarningV2(
      'freshq:alarm-topic-key',
      `the key of the alarm topic is not part of this app: its policy must allow ${CLOUDWATCH} to use kms:Decrypt and kms:GenerateDataKey*, or the topic receives no alarms`,
    );
  }
  queue.node.addValidation({ validate: () => laterProblems(topic) });
}

/** Returns errors for a key or policy that the app added to the topic after the queue. */
function laterProblems(topic: ITopic): string[] {
  const silent = policiesOf(topic).filter((policy) => !letsCloudWatchPublish(policy));
  const problems = silent.map(
    ({ node }) =>
      `alarmTopic: the policy ${node.path} does not allow CloudWatch to publish, so the topic receives no alarms. Remedy: create the policy before the queue, or add a statement that allows ${CLOUDWATCH} the action sns:Publish.`,
  );
  return [
    ...problems,
    ...alarmTopicProblems(topic, topic.env.region).map(
      ({ setting, rule, remedy }) => `${setting}: ${rule}. Remedy: ${remedy}.`,
    ),
  ];
}

/** Returns the policies of a topic in its stack. SNS accepts one policy per topic. */
function policiesOf(topic: ITopic): CfnTopicPolicy[] {
  const stack = Stack.of(topic);
  const arn = JSON.stringify(stack.resolve(topic.topicArn));
  return stack.node
    .findAll()
    .filter((each) => each instanceof CfnTopicPolicy)
    .filter(({ topics }) => stack.resolve(topics).some((each: unknown) => JSON.stringify(each) === arn));
}

function letsCloudWatchPublish(policy: CfnTopicPolicy): boolean {
  const { Statement = [] } = policy.stack.resolve(policy.policyDocument) ?? {};
  return [Statement].flat().some(({ Effect, Action, Principal }) => {
    const services = [Principal?.Service ?? Principal?.AWS ?? Principal].flat();
    const actions = [Action ?? []].flat().map((action: string) => action.toLowerCase());
    return (
      Effect === 'Allow' &&
      services.some((service) => service === CLOUDWATCH || service === '*') &&
      actions.some((action) => ['sns:publish', 'sns:*', '*'].includes(action))
    );
  });
}

/** Returns the names of a topic's KMS key: in its props, and in a template property that the app overrides. */
function keysOf(topic: ITopic): string[] {
  const resource = topic.node.defaultChild;
  const own = resource instanceof CfnTopic ? Stack.of(topic).resolve(resource.kmsMasterKeyId) : undefined;
  const keys = [own, topic.masterKey && Stack.of(topic).resolve(topic.masterKey.keyArn)];
  return keys.flatMap((key) => (key === undefined ? [] : [lastPart(key)]));
}

/** Returns a template value, or the last part of a join, as text. */
function lastPart(value: unknown): string {
  if (typeof value === 'string') return value;
  const parts = (value as { 'Fn::Join'?: [string, unknown[]] })['Fn::Join']?.[1];
  return String(parts?.at(-1) ?? '');
}

function forCloudWatch(actions: string[], resource: string): PolicyStatement {
  return new PolicyStatement({
    principals: [new ServicePrincipal(CLOUDWATCH)],
    actions,
    resources: [resource],
    conditions: { StringEquals: { 'aws:SourceAccount': Aws.ACCOUNT_ID } },
  });
}
