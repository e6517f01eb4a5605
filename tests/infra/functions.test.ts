import { Duration } from 'aws-cdk-lib';
import { ApplicationLogLevel } from 'aws-cdk-lib/aws-lambda';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { AGENT_QUEUE } from '../../infra/contract/agents';
import type { ProcessingSettings, TaskSettings } from '../../infra/tasks/settings';
import { KINDS, Synthesized } from './synthesis';

const dev = Synthesized.environment('dev');
const FUNCTIONS = ['create-tasks', 'ingest-tasks', 'trigger', 'process-tasks', 'sweep-tasks', 'count-shed'];

describe.each(KINDS)('a function of $kind', ({ synthesize, functions }) => {
  const dev = synthesize('dev');

  describe.each(functions)('%s', (name) => {
    const fn = dev.fn(name);

    test('is a bootstrap on arm64', () => {
      expect(fn).toMatchObject({
        Runtime: 'provided.al2023',
        Architectures: ['arm64'],
        Handler: 'bootstrap',
      });
    });

    test('traces actively and logs JSON to a log group of its own', () => {
      expect(fn.TracingConfig).toEqual({ Mode: 'Active' });
      expect(fn.LoggingConfig).toMatchObject({
        LogFormat: 'JSON',
        ApplicationLogLevel: 'DEBUG',
        SystemLogLevel: 'INFO',
      });
      expect(dev.readable(fn.LoggingConfig.LogGroup)).toBe(`${name}/logs`);
      expect(dev.at(`${name}/logs`).Properties.RetentionInDays).toBe(7);
    });

    test('has a failure destination for asynchronous invocations', () => {
      const { Properties } = dev.at(`${name}/function/EventInvokeConfig`);
      expect(dev.readable(Properties.DestinationConfig.OnFailure.Destination)).toBe(`${name}/failures.Arn`);
    });

    test('has a role of its own', () => {
      expect(dev.readable(fn.Role)).toBe(`${name}/role.Arn`);
      expect(dev.at(`${name}/role`).Properties.ManagedPolicyArns).toBeUndefined();
    });
  });

  test('there are these functions and no more', () => {
    expect(dev.all('AWS::Lambda::Function')).toHaveLength(functions.length);
  });

  test('nothing has a physical name except the ingest queue, which its dead-letter queue names', () => {
    const names = [
      'TableName',
      'TopicName',
      'QueueName',
      'FunctionName',
      'RoleName',
      'LogGroupName',
      'AlarmName',
      'Name',
    ];
    for (const type of [
      'DynamoDB::Table',
      'SNS::Topic',
      'SQS::Queue',
      'IAM::Role',
      'Logs::LogGroup',
      'Lambda::Function',
    ]) {
      for (const { Properties, Metadata } of dev.all(`AWS::${type}`)) {
        if (Metadata?.['aws:cdk:path']?.endsWith('/queue/ingest/queue/Resource')) continue;
        for (const name of names) expect(Properties?.[name]).toBeUndefined();
      }
    }
    for (const { Properties } of dev.all('AWS::CloudWatch::Alarm'))
      expect(Properties.AlarmName).toBeUndefined();
    for (const { Properties } of dev.all('AWS::Scheduler::Schedule')) expect(Properties.Name).toBeUndefined();
  });
});

describe('concurrency, retries and loops', () => {
  const config = (name: string) => dev.at(`${name}/function/EventInvokeConfig`).Properties;

  test('process-tasks runs once at a time, is retried once, and may loop', () => {
    const fn = dev.fn('process-tasks');
    expect(fn).toMatchObject({ ReservedConcurrentExecutions: 1, Timeout: 120, RecursiveLoop: 'Allow' });
    expect(config('process-tasks')).toMatchObject({ MaximumRetryAttempts: 1, MaximumEventAgeInSeconds: 300 });
  });

  test('trigger has no reserved concurrency, is never retried, and may loop', () => {
    const fn = dev.fn('trigger');
    expect(fn.ReservedConcurrentExecutions).toBeUndefined();
    expect(fn.RecursiveLoop).toBe('Allow');
    expect(config('trigger')).toMatchObject({ MaximumRetryAttempts: 0 });
  });

  test.each(['create-tasks', 'ingest-tasks', 'sweep-tasks', 'count-shed'])('%s may not loop', (name) => {
    expect(dev.fn(name).RecursiveLoop).toBeUndefined();
    expect(dev.fn(name).ReservedConcurrentExecutions).toBeUndefined();
  });

  test('sweep-tasks ends before its next round and is not retried', () => {
    expect(dev.fn('sweep-tasks').Timeout).toBeLessThan(60);
    expect(config('sweep-tasks')).toMatchObject({ MaximumRetryAttempts: 0 });
  });
});

describe('the environment of process-tasks', () => {
  test('has the defaults, in whole milliseconds and seconds', () => {
    const { TASK_TABLE_NAME, PROCESS_TASKS_TOPIC_ARN, TRIGGER_TOPIC_ARN, ...settings } =
      Synthesized.queue().fn('process-tasks').Environment.Variables;
    expect(
      [TASK_TABLE_NAME, PROCESS_TASKS_TOPIC_ARN, TRIGGER_TOPIC_ARN].map((value) => dev.readable(value)),
    ).toHaveLength(3);
    expect(settings).toEqual({
      BREAKER_PAUSE_AFTER_SECONDS: '480',
      CLOCK_SKEW_MS: '2000',
      DEADLINE_MARGIN_MS: '10000',
      DEFAULT_TTL_SECONDS: '3600',
      FAILURE_RETENTION_SECONDS: '1209600',
      HEARTBEAT_MS: '5000',
      INDEX_LAG_MS: '2000',
      MAX_ATTEMPTS: '5',
      MAX_BUSY_RETURNS: '20',
      MAX_IDLE_TURNS: '10',
      MAX_UNAVAILABLE_RETURNS: '500',
      NOTIFICATION_MARKER_MS: '10000',
      PAUSE_MS: '300000',
      PROCESSOR_LEASE_MS: '20000',
      RETRY_BASE_MS: '1000',
      RETRY_MAX_MS: '300000',
      SUCCESS_RETENTION_SECONDS: '86400',
      TASK_ORDER: 'newest-first',
      TASK_RUNNER: '{"kind":"simulated","capacity":3,"durationMs":15000}',
      TASK_SLOTS: '10',
      TASK_TIMEOUT_MS: '30000',
      TURN_MS: '60000',
    });
  });

  test('names table and topics', () => {
    const variables = dev.fn('process-tasks').Environment.Variables;
    expect(dev.readable(variables.TASK_TABLE_NAME)).toBe('task-table/table');
    expect(dev.readable(variables.PROCESS_TASKS_TOPIC_ARN)).toBe('process-tasks-topic/topic');
    expect(dev.readable(variables.TRIGGER_TOPIC_ARN)).toBe('trigger-topic/topic');
  });

  test('follows every typed setting', () => {
    const fn = Synthesized.queue({
      tasks: {
        defaultTtl: Duration.minutes(10),
        successRetention: Duration.hours(2),
        failureRetention: Duration.days(3),
        maxAttempts: 7,
        maxBusyReturns: 9,
        maxUnavailableReturns: 70,
        retryBase: Duration.millis(250),
        retryMax: Duration.seconds(40),
      },
      processing: {
        turn: Duration.seconds(20),
        taskTimeout: Duration.seconds(16),
        deadlineMargin: Duration.seconds(4),
        functionTimeout: Duration.seconds(40),
        memorySize: 512,
        concurrency: 50,
        reservedConcurrency: 2,
        processorLease: Duration.seconds(30),
        heartbeat: Duration.seconds(3),
        indexLag: Duration.millis(1500),
        maxIdleTurns: 4,
        clockSkew: Duration.millis(500),
        pause: Duration.minutes(1),
        notificationMarker: Duration.seconds(5),
      },
    }).fn('process-tasks');
    expect(fn).toMatchObject({ Timeout: 40, MemorySize: 512, ReservedConcurrentExecutions: 2 });
    expect(fn.Environment.Variables).toMatchObject({
      DEFAULT_TTL_SECONDS: '600',
      SUCCESS_RETENTION_SECONDS: '7200',
      FAILURE_RETENTION_SECONDS: '259200',
      MAX_ATTEMPTS: '7',
      MAX_BUSY_RETURNS: '9',
      MAX_UNAVAILABLE_RETURNS: '70',
      RETRY_BASE_MS: '250',
      RETRY_MAX_MS: '40000',
      TURN_MS: '20000',
      TASK_TIMEOUT_MS: '16000',
      DEADLINE_MARGIN_MS: '4000',
      TASK_SLOTS: '50',
      PROCESSOR_LEASE_MS: '30000',
      HEARTBEAT_MS: '3000',
      INDEX_LAG_MS: '1500',
      MAX_IDLE_TURNS: '4',
      CLOCK_SKEW_MS: '500',
      PAUSE_MS: '60000',
      NOTIFICATION_MARKER_MS: '5000',
    });
  });

  test.each([
    [{}, '480'],
    [{ breaker: {} }, '480'],
    [{ breaker: { pauseAfter: Duration.minutes(2) } }, '120'],
    // Settings from before there was a breaker: its default keeps below their idle bound.
    [{ maxIdleTurns: 3 }, '144'],
    [{ breaker: { enabled: false } }, undefined],
  ])('has a circuit breaker with %j', (processing, pauseAfter) => {
    const { Variables } = Synthesized.queue({ processing }).fn('process-tasks').Environment;
    expect(Variables.BREAKER_PAUSE_AFTER_SECONDS).toBe(pauseAfter);
  });

  test('bounds age and follows a latency only where it is asked to', () => {
    const variables = (processing: ProcessingSettings) => {
      const synthesized = Synthesized.queue({ processing });
      const of = (name: 'process-tasks' | 'sweep-tasks') => synthesized.fn(name).Environment.Variables;
      const { CODEL_TARGET_MS, CODEL_INTERVAL_MS, TARGET_LATENCY_MS } = of('process-tasks');
      return [CODEL_TARGET_MS, CODEL_INTERVAL_MS, TARGET_LATENCY_MS, of('sweep-tasks').CODEL_TARGET_MS];
    };
    expect(variables({})).toEqual([undefined, undefined, undefined, undefined]);
    const codel = { target: Duration.seconds(1), interval: Duration.seconds(5) };
    const targetLatency = Duration.millis(750);
    expect(variables({ codel, targetLatency })).toEqual(['1000', '5000', '750', '1000']);
  });

  test.each([
    [0.5, undefined, '0.5', '1'],
    [12.3, undefined, '12.3', '13'],
    [5, undefined, '5', '5'],
    [0.001, undefined, '0.001', '1'],
    [2.5, 40, '2.5', '40'],
  ])('limits the rate to %s a second, bursts of %s', (ratePerSecond, burst, rate, atOnce) => {
    const { Variables } = Synthesized.queue({ processing: { ratePerSecond, burst } }).fn(
      'process-tasks',
    ).Environment;
    expect([Variables.RATE_PER_SECOND, Variables.RATE_BURST]).toEqual([rate, atOnce]);
  });

  test('treats a setting that is explicitly undefined as not given', () => {
    const fn = Synthesized.queue({ processing: { turn: undefined } }).fn('process-tasks');
    expect(fn.Environment.Variables.TURN_MS).toBe('60000');
  });
});

describe('the bound on expiry', () => {
  const bounds = (tasks: TaskSettings) => {
    const synthesized = Synthesized.queue({ tasks });
    return ['process-tasks', 'sweep-tasks'].map(
      (name) => synthesized.fn(name).Environment.Variables.EXPIRY_BOUND_SECONDS,
    );
  };

  test('is the longest expiry, without direct writers', () => {
    expect(bounds({ allowDirectWrites: false, maxTtl: Duration.days(2) })).toEqual(['172800', '172800']);
  });

  test('is not there where others may write, longest expiry or not', () => {
    expect(bounds({})).toEqual([undefined, undefined]);
    expect(bounds({ maxTtl: Duration.days(2) })).toEqual([undefined, undefined]);
    expect(bounds({ allowDirectWrites: true, maxTtl: Duration.days(2) })).toEqual([undefined, undefined]);
  });
});

test.each([
  ['dev', 'true'],
  ['staging', 'true'],
  ['prod', 'false'],
] as const)('simulation in %s: %s', (name, enabled) => {
  const { Variables } = Synthesized.environment(name).fn('create-tasks').Environment;
  expect(Variables.SIMULATION_ENABLED).toBe(enabled);
});

const LOGS = { level: ApplicationLogLevel.WARN, retention: RetentionDays.ONE_YEAR };

test.each([
  ['LifoQueue', Synthesized.queue({ logs: LOGS, ingest: {} }), FUNCTIONS],
  ['AgentQueue', Synthesized.agentQueue({ logs: LOGS }), Object.keys(AGENT_QUEUE.environment)],
] as const)(
  'logs of %s follow the typed level and retention, and stay when the table stays',
  (_kind, synthesized, functions) => {
    for (const name of functions) {
      expect(synthesized.fn(name).LoggingConfig.ApplicationLogLevel).toBe('WARN');
      expect(synthesized.at(`${name}/logs`).Properties.RetentionInDays).toBe(365);
      expect(synthesized.at(`${name}/logs`).DeletionPolicy).toBe('RetainExceptOnCreate');
    }
  },
);
