import { ArnFormat, type Duration, type RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import { Effect, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  type ApplicationLogLevel,
  Architecture,
  type CfnFunction,
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
import type { EnvironmentOf, FunctionName } from '../contract/tasks';
import { builtCode, warnOfPlaceholders } from './artifacts';
import { environmentSizeProblems } from './environment-size';
import { FailureQueue } from './failure-queue';
import { type FunctionSettings, settingsJson, settingsVariable } from './function-settings';
import type { IQueueFunction } from './queue-parts';
import { retainedOnceUsed } from './retention';

/** EC2 actions that Lambda uses to place a function in a VPC. */
const NETWORK_INTERFACE_ACTIONS = [
  'ec2:CreateNetworkInterface',
  'ec2:DeleteNetworkInterface',
  'ec2:DescribeNetworkInterfaces',
  'ec2:DescribeSubnets',
  'ec2:AssignPrivateIpAddresses',
  'ec2:UnassignPrivateIpAddresses',
] as const;

/** Log level and log retention of the functions. */
export interface LogOptions {
  /**
   * Minimum log level of the functions.
   * @default ApplicationLogLevel.INFO
   */
  readonly level?: ApplicationLogLevel;
  /**
   * Retention of log events.
   * @default RetentionDays.ONE_MONTH
   */
  readonly retention?: RetentionDays;
}

/** Log settings of every function of a queue. */
export interface LogSettings extends Required<LogOptions> {
  /** Removal policy, which determines whether stack deletion deletes or retains the log groups. */
  readonly removalPolicy: RemovalPolicy;
}

/** Handling of asynchronous invocations of a function. */
export interface AsyncSettings {
  /** Maximum number of retries after a failure: 0, 1 or 2. */
  readonly retryAttempts: number;
  /** Age at which Lambda stops retrying an event and sends it to the failure queue. */
  readonly maxEventAge: Duration;
}

/** Network of a function. */
export interface NetworkSettings {
  /**
   * VPC of the function. It requires endpoints or NAT to reach DynamoDB, SNS and the system that the task runner calls.
   * @default - Lambda's own network
   */
  readonly vpc?: IVpc;
  /**
   * Subnets of the VPC.
   * @default - the private subnets
   */
  readonly vpcSubnets?: SubnetSelection;
  /**
   * Security groups of the function. Requires {@link vpc}.
   * @default - a new security group
   */
  readonly securityGroups?: ISecurityGroup[];
}

export interface RustFunctionProps<F extends FunctionName> {
  /** Name of the function, which is also the name of its folder in `lambdas/`, its binary and its construct id. */
  readonly binary: F;
  /** Description of the function, shown in the Lambda console. */
  readonly description: string;
  /** Environment variables for names, ARNs and URLs, as defined in the contract. */
  readonly environment: EnvironmentOf<F>;
  /**
   * Settings of the function, passed as JSON in one environment variable.
   * @default - none
   */
  readonly settings?: FunctionSettings;
  readonly timeout: Duration;
  /** Memory, in MiB. */
  readonly memorySize: number;
  readonly logs: LogSettings;
  /** Handling of asynchronous invocations. */
  readonly async: AsyncSettings;
  /**
   * Reserved concurrency.
   * @default - none
   */
  readonly reservedConcurrency?: number;
  /**
   * Whether to disable Lambda's recursive loop detection. The detection ends a loop through SNS after about 16 rounds.
   * The tail calls of the wake-up protocol are such a loop, with its own limit.
   * @default false - Lambda ends loops
   */
  readonly partOfLoop?: boolean;
  /**
   * Code of the function.
   * @default - the built binary
   */
  readonly code?: Code;
  /**
   * Network of the function.
   * @default - Lambda's own network
   */
  readonly network?: NetworkSettings;
}

/**
 * A function of a queue: arm64 on `provided.al2023`, with its own role and log group, JSON logs and a failure queue.
 * X-Ray records its invocations only if its settings contain `traces`.
 */
export class RustFunction<F extends FunctionName = FunctionName> extends Construct implements IQueueFunction {
  readonly function: LambdaFunction;
  readonly logGroup: LogGroup;
  /** Queue for invocations that failed after all retries, including stream batches of `trigger` and `count-shed`. */
  readonly failures: FailureQueue;
  /** Whether the function has active tracing. */
  readonly traced: boolean;
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
    this.allow(['logs:CreateLogStream', 'logs:PutLogEvents'], [this.logGroup.logGroupArn]);
    this.failures.allowSend(this.role);
    if (props.network?.vpc !== undefined) this.allowNetworkInterfaces();

    this.traced = props.settings?.traces !== undefined;
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
      // Adds xray:PutTraceSegments and xray:PutTelemetryRecords on *, because X-Ray has no resources to specify.
      tracing: this.traced ? Tracing.ACTIVE : undefined,
      logGroup: this.logGroup,
      loggingFormat: LoggingFormat.JSON,
      applicationLogLevelV2: props.logs.level,
      systemLogLevelV2: SystemLogLevel.INFO,
      vpc: props.network?.vpc,
      vpcSubnets: props.network?.vpcSubnets,
      securityGroups: props.network?.securityGroups,
    });
    // Lambda's default. It is in the template so that an update disables the active tracing of a deployed function.
    // CDK's Tracing.PASS_THROUGH would add the permissions of active tracing.
    if (!this.traced)
      (this.function.node.defaultChild as CfnFunction).tracingConfig = { mode: 'PassThrough' };
    this.node.addValidation({ validate: () => environmentSizeProblems(this.function) });
    this.function.configureAsyncInvoke({
      retryAttempts: props.async.retryAttempts,
      maxEventAge: props.async.maxEventAge,
      onFailure: this.failures.asDestination(),
    });
  }

  /** Allows the function `actions` on `resources`, under `conditions`. */
  allow(
    actions: string[],
    resources: string[],
    conditions?: Record<string, Record<string, string | string[]>>,
  ): void {
    this.role.addToPrincipalPolicy(new PolicyStatement({ actions, resources, conditions }));
  }

  /** Allows the function to send messages to a queue, and to use the queue's encryption key if it has one. */
  allowSendTo(queue: IQueue): void {
    this.allow(['sqs:SendMessage'], [queue.queueArn]);
    const key = queue.encryptionMasterKey;
    if (key !== undefined) this.allow(['kms:Decrypt', 'kms:GenerateDataKey'], [key.keyArn]);
  }

  /**
   * Allows Lambda to place the function in a VPC, and denies the same actions to the function's own code. Before the
   * interface exists, EC2 has no resource to specify. Requests from the code specify the function as their source, and
   * requests from Lambda don't (https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html). The statement
   * denies any function, because naming this one would create a circular reference. No other function has this role.
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
  return { [settingsVariable(binary)]: JSON.stringify(settingsJson(settings)) };
}
