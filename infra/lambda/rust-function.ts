import { ArnFormat, type Duration, type RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import { Effect, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  type ApplicationLogLevel,
  Architecture,
  type Code,
  Function as LambdaFunction,
  LoggingFormat,
  RecursiveLoop,
  Runtime,
  SystemLogLevel,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { earlierVariables } from '../contract/earlier-variables';
import type { EnvironmentOf, FunctionName } from '../contract/tasks';
import { builtCode, warnOfPlaceholders } from './artifacts';
import { environmentSizeProblems } from './environment-size';
import { FailureQueue } from './failure-queue';
import { type FunctionSettings, settingsJson, settingsVariable } from './function-settings';
import { acknowledge } from './nag-suppressions';
import { retainedOnceUsed } from './retention';

/** What Lambda does to place a function in a VPC. */
const NETWORK_INTERFACE_ACTIONS = [
  'ec2:CreateNetworkInterface',
  'ec2:DeleteNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:AssignPrivateIpAddresses',
  'ec2:UnassignPrivateIpAddresses',
] as const;

/** How every function of a queue logs. */
export interface LogSettings {
  /** The least severe level that is kept. */
  readonly level: ApplicationLogLevel;
  /** How long log events are kept. */
  readonly retention: RetentionDays;
  /** The fate of the log groups when the stack is deleted. */
  readonly removalPolicy: RemovalPolicy;
}

/** What Lambda does with asynchronous invocations of a function. */
export interface AsyncSettings {
  /** Retries after a failure: 0, 1 or 2. */
  readonly retryAttempts: number;
  /** Events older than this go to the failure queue. */
  readonly maxEventAge: Duration;
}

/** Where a function reaches the network from. */
export interface NetworkSettings {
  /**
   * The VPC to run in. It needs a way to DynamoDB, SNS and what the task runner calls: endpoints or NAT.
   * @default - Lambda's own network
   */
  readonly vpc?: IVpc;
  /**
   * The subnets of the VPC.
   * @default - the private subnets
   */
  readonly vpcSubnets?: SubnetSelection;
  /**
   * Security groups of the function; only with {@link vpc}.
   * @default - a new one
   */
  readonly securityGroups?: ISecurityGroup[];
}

/** Props of {@link RustFunction}. */
export interface RustFunctionProps<F extends FunctionName> {
  /** Which function: its folder in `lambdas/`, its binary and its construct id. */
  readonly binary: F;
  /** What the function is for, as the console shows it. */
  readonly description: string;
  /** Names, ARNs and URLs, by the contract. */
  readonly environment: EnvironmentOf<F>;
  /**
   * Its settings: they become the JSON of one variable.
   * @default - none
   */
  readonly settings?: FunctionSettings;
  /** How long an invocation may take. */
  readonly timeout: Duration;
  /** Memory, MiB. */
  readonly memorySize: number;
  /** How it logs. */
  readonly logs: LogSettings;
  /** Asynchronous invocations. */
  readonly async: AsyncSettings;
  /**
   * Reserved concurrency.
   * @default - none
   */
  readonly reservedConcurrency?: number;
  /**
   * Whether Lambda lets the function be part of a loop. Its detection ends a loop through SNS after about 16
   * rounds, and the tail call of the wake-up protocol is such a loop, with a bound of its own.
   * @default false - Lambda ends loops
   */
  readonly partOfLoop?: boolean;
  /**
   * The code.
   * @default - the binary as it was built
   */
  readonly code?: Code;
  /**
   * The network.
   * @default - Lambda's own
   */
  readonly network?: NetworkSettings;
}

/**
 * One of the functions: arm64 on `provided.al2023`, a role and a log group of its own, JSON logs, active
 * tracing, and a queue for what failed.
 */
export class RustFunction<F extends FunctionName = FunctionName> extends Construct {
  /** The function. */
  readonly function: LambdaFunction;
  /** Its log group. */
  readonly logGroup: LogGroup;
  /** Invocations (and, for `trigger` and `count-shed`, stream batches) that failed for good. */
  readonly failures: FailureQueue;
  private readonly role: Role;

  constructor(scope: Construct, id: string, props: RustFunctionProps<F>) {
    super(scope, id);
    warnOfPlaceholders(this);
    this.logGroup = new LogGroup(this, 'logs', {
      retention: props.logs.retention,
      removalPolicy: retainedOnceUsed(props.logs.removalPolicy),
    });
    this.failures = new FailureQueue(this, 'failures');
    this.role = new Role(this, 'role', { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
    acknowledge(this.role, 'functionRole');
    this.allow(['logs:CreateLogStream', 'logs:PutLogEvents'], [this.logGroup.logGroupArn]);
    this.failures.allowSend(this.role);
    if (props.network?.vpc !== undefined) this.allowNetworkInterfaces();

    this.function = new LambdaFunction(this, 'function', {
      description: props.description,
      runtime: Runtime.PROVIDED_AL2023,
      architecture: Architecture.ARM_64,
      handler: 'bootstrap',
      code: props.code ?? builtCode(props.binary),
      environment: { ...variablesOf(props.binary, props.settings), ...props.environment },
      timeout: props.timeout,
      memorySize: props.memorySize,
      role: this.role,
      reservedConcurrentExecutions: props.reservedConcurrency,
      recursiveLoop: props.partOfLoop ? RecursiveLoop.ALLOW : undefined,
      // Adds xray:PutTraceSegments and xray:PutTelemetryRecords on *: X-Ray knows no resources to name.
      tracing: Tracing.ACTIVE,
      logGroup: this.logGroup,
      loggingFormat: LoggingFormat.JSON,
      applicationLogLevelV2: props.logs.level,
      systemLogLevelV2: SystemLogLevel.INFO,
      vpc: props.network?.vpc,
      vpcSubnets: props.network?.vpcSubnets,
      securityGroups: props.network?.securityGroups,
    });
    acknowledge(this.function, 'asyncFailures');
    this.node.addValidation({ validate: () => environmentSizeProblems(this.function) });
    this.function.configureAsyncInvoke({
      retryAttempts: props.async.retryAttempts,
      maxEventAge: props.async.maxEventAge,
      onFailure: this.failures.asDestination(),
    });
  }

  /** Lets the function do `actions` on `resources`, under `conditions`. */
  allow(
    actions: string[],
    resources: string[],
    conditions?: Record<string, Record<string, string | string[]>>,
  ): void {
    this.role.addToPrincipalPolicy(new PolicyStatement({ actions, resources, conditions }));
  }

  /** Lets the function write into a queue, and use its key if it has one of its own; nothing else. */
  allowSendTo(queue: IQueue): void {
    this.allow(['sqs:SendMessage'], [queue.queueArn]);
    const key = queue.encryptionMasterKey;
    if (key !== undefined) this.allow(['kms:Decrypt', 'kms:GenerateDataKey'], [key.keyArn]);
  }

  /**
   * Lets Lambda place the function in a VPC, and denies the same to the function's own code. EC2 knows no resource to
   * name before the interface exists. Calls of the code name the function as their source, calls of Lambda do not
   * (https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html). No other function has this role, so the
   * statement need not name this one, which would be a circular reference.
   */
  private allowNetworkInterfaces(): void {
    this.allow([...NETWORK_INTERFACE_ACTIONS], ['*']);
    const anyFunction = Stack.of(this).formatArn({
      service: 'lambda',
      resource: 'function',
      resourceName: '*',
      arnFormat: ArnFormat.COLON_RESOURCE_NAME,
    });
    this.role.addToPrincipalPolicy(
      new PolicyStatement({
        effect: Effect.DENY,
        actions: [...NETWORK_INTERFACE_ACTIONS],
        resources: ['*'],
        conditions: { ArnLike: { 'lambda:SourceFunctionArn': anyFunction } },
      }),
    );
  }
}

function variablesOf(binary: string, settings: FunctionSettings | undefined): Record<string, string> {
  if (settings === undefined) return {};
  const json = settingsJson(settings);
  return { ...earlierVariables(binary, json), [settingsVariable(binary)]: JSON.stringify(json) };
}
