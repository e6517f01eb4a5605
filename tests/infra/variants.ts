import { join } from 'node:path';
import { Duration, Stack } from 'aws-cdk-lib';
import { Vpc } from 'aws-cdk-lib/aws-ec2';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { AgentQueue } from '../../infra/agents/agent-queue';
import { LifoQueue } from '../../infra/tasks/lifo-queue';
import type { ITaskRunner } from '../../infra/tasks/runners/binding';
import { HttpAuth } from '../../infra/tasks/runners/http-auth';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { newApp, ROOT } from './synthesis';

const HERE = 'eu-west-1:123456789012';
/** URL of the HTTP runners. */
const URL = 'https://quotes.example.com/refresh';

/** Imported resources, which are not part of the template. */
const THEIRS = {
  vpc: (stack: Stack) =>
    Vpc.fromVpcAttributes(stack, 'vpc', {
      vpcId: 'vpc-1',
      availabilityZones: ['eu-west-1a', 'eu-west-1b'],
      privateSubnetIds: ['subnet-1', 'subnet-2'],
    }),
  secret: (stack: Stack) =>
    Secret.fromSecretAttributes(stack, 'secret', {
      // The ARN without the six random characters at its end.
      secretPartialArn: `arn:aws:secretsmanager:${HERE}:secret:quotes/token`,
      encryptionKey: Key.fromKeyArn(stack, 'secret-key', `arn:aws:kms:${HERE}:key/secret`),
    }),
  shed: (stack: Stack) =>
    Queue.fromQueueAttributes(stack, 'shed', {
      queueArn: `arn:aws:sqs:${HERE}:shed`,
      keyArn: `arn:aws:kms:${HERE}:key/shed`,
    }),
  bus: (stack: Stack) => EventBus.fromEventBusArn(stack, 'bus', `arn:aws:events:${HERE}:event-bus/ends`),
  alarms: (stack: Stack) => Topic.fromTopicArn(stack, 'alarms', `arn:aws:sns:${HERE}:on-call`),
  work: (stack: Stack) =>
    LambdaFunction.fromFunctionArn(stack, 'work', `arn:aws:lambda:${HERE}:function:work`),
};

/** Returns a function that creates a task queue with a runner, in its own stack at `test/queue`. */
function runner(of: (stack: Stack) => ITaskRunner): () => Stack {
  return () => {
    const stack = new Stack(newApp(), 'test');
    new LifoQueue(stack, 'queue', { runner: of(stack) });
    return stack;
  };
}

/** Queues with options that no environment of this repository uses, each in its own app at `test/queue`. */
export const VARIANTS: Readonly<Record<string, () => Stack>> = {
  'every option of a task queue, in a VPC, calling over HTTP with a secret': () => {
    const stack = new Stack(newApp(), 'test');
    new LifoQueue(stack, 'queue', {
      runner: TaskRunner.http({
        url: URL,
        vpc: THEIRS.vpc(stack),
        auth: HttpAuth.header({ secret: THEIRS.secret(stack) }),
      }),
      tasks: { maxTtl: Duration.days(2), allowDirectWrites: false },
      processing: { ratePerSecond: 20 },
      simulation: { load: { every: Duration.minutes(5), tasks: 20 } },
      ingest: { iotPresence: true },
      traces: {},
      shedTasksTo: THEIRS.shed(stack),
      taskEventsTo: THEIRS.bus(stack),
      alarmTopic: THEIRS.alarms(stack),
    });
    return stack;
  },
  'a task queue whose work is a function': runner((stack) => TaskRunner.lambda(THEIRS.work(stack))),
  'a task queue that signs its calls': runner(() =>
    TaskRunner.http({
      url: URL,
      auth: HttpAuth.sigV4({
        service: 'execute-api',
        actions: ['execute-api:Invoke'],
        resources: [`arn:aws:execute-api:${HERE}:api/prod/POST/refresh`],
      }),
    }),
  ),
  'a task queue with a runner in Rust, in a VPC': runner((stack) =>
    TaskRunner.rust({
      manifestPath: join(ROOT, 'examples', 'custom-runner', 'Cargo.toml'),
      binary: 'custom-runner',
      vpc: THEIRS.vpc(stack),
    }),
  ),
  "every option of an agents' queue": () => {
    const stack = new Stack(newApp(), 'test');
    new AgentQueue(stack, 'queue', {
      agents: { order: 'lifo', callLease: Duration.minutes(90) },
      seed: true,
      alarmTopic: THEIRS.alarms(stack),
    });
    return stack;
  },
};
