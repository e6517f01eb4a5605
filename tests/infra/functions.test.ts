import { Duration, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { ApplicationLogLevel } from 'aws-cdk-lib/aws-lambda';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { AGENT_QUEUE } from '../../infra/contract/agents';
import { LifoQueue } from '../../infra/tasks/lifo-queue';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import type { ProcessingSettings } from '../../infra/tasks/settings/processing';
import type { TaskSettings } from '../../infra/tasks/settings/tasks';
import { newApp, Synthesized } from './synthesis';

const FUNCTIONS = ['create-tasks', 'ingest-tasks', 'trigger', 'process-tasks', 'sweep-tasks', 'count-shed'];

describe('the environment of process-tasks', () => {
  test('contains the turn, while Lambda gets timeout, memory and concurrency', () => {
    const synthesized = Synthesized.queue({
      processing: {
        turn: Duration.seconds(20),
        taskTimeout: Duration.seconds(16),
        functionTimeout: Duration.seconds(50),
        memorySize: 512,
      },
    });
    expect(synthesized.fn('process-tasks')).toMatchObject({
      Timeout: 50,
      MemorySize: 512,
      ReservedConcurrentExecutions: 2,
    });
    expect(synthesized.settings('process-tasks').turnMs).toBe(20_000);
  });

  test('uses the unreserved concurrency of the account if configured', () => {
    const reserved = (processing: ProcessingSettings) =>
      Synthesized.queue({ processing }).fn('process-tasks').ReservedConcurrentExecutions;
    expect(reserved({})).toBe(2);
    expect(reserved({ unreservedConcurrency: true })).toBeUndefined();
  });

  test.each([
    [{}, 480_000],
    [{ breaker: {} }, 480_000],
    [{ breaker: { enabled: false } }, undefined],
  ])('contains the circuit breaker settings for %j', (processing, pauseAfter) => {
    const { breaker } = Synthesized.queue({ processing }).settings('process-tasks');
    expect(breaker?.pauseAfterMs).toBe(pauseAfter);
  });

  test('contains groups in every function that uses them, only if configured', () => {
    const settings = (processing: ProcessingSettings) => {
      const synthesized = Synthesized.queue({ processing, ingest: {} });
      return [
        synthesized.settings('process-tasks').groups,
        synthesized.settings('create-tasks').create.groups,
        synthesized.settings('ingest-tasks').ingest.create.groups,
        synthesized.settings('sweep-tasks').sweep.groups,
      ];
    };
    expect(settings({})).toEqual([undefined, undefined, undefined, undefined]);
    expect(settings({ groups: {} })).toEqual([{}, true, true, true]);
    const [limits] = settings({ groups: { maxConcurrency: 3, ratePerSecond: 2.5, breaker: true } });
    expect(limits).toEqual({ maxConcurrency: 3, rate: { perSecond: 2.5, burst: 3 }, breaker: true });
  });

  test.each([
    [0.5, undefined, 1],
    [12.3, undefined, 13],
    [5, undefined, 5],
    [0.001, undefined, 1],
    [2.5, 40, 40],
  ])('contains a rate of %s per second with a burst of %s', (ratePerSecond, burst, atOnce) => {
    const { rate } = Synthesized.queue({ processing: { ratePerSecond, burst } }).settings('process-tasks');
    expect(rate).toEqual({ perSecond: ratePerSecond, burst: atOnce });
  });

  test('treats an explicit undefined as omitted', () => {
    const settings = Synthesized.queue({ processing: { turn: undefined } }).settings('process-tasks');
    expect(settings.turnMs).toBe(60_000);
  });
});

describe('the bound on expiry', () => {
  const bounds = (tasks: TaskSettings) => {
    const synthesized = Synthesized.queue({ tasks });
    return [
      synthesized.settings('process-tasks').expiryBoundMs,
      synthesized.settings('sweep-tasks').sweep.expiryBoundMs,
    ];
  };

  test('is the maximum expiry without direct writers', () => {
    expect(bounds({ allowDirectWrites: false, maxTtl: Duration.days(2) })).toEqual([
      172_800_000, 172_800_000,
    ]);
  });

  test('is undefined if direct writes are allowed', () => {
    expect(bounds({})).toEqual([undefined, undefined]);
    expect(bounds({ maxTtl: Duration.days(2) })).toEqual([undefined, undefined]);
    expect(bounds({ allowDirectWrites: true, maxTtl: Duration.days(2) })).toEqual([undefined, undefined]);
  });
});

describe('an environment over 4,096 bytes', () => {
  const queueWith = (added: Record<string, string>) => {
    const stack = new Stack(newApp(), 'test');
    const { processTasks } = new LifoQueue(stack, 'queue', { runner: TaskRunner.simulated() });
    for (const [name, value] of Object.entries(added)) processTasks.function.addEnvironment(name, value);
    return () => Template.fromStack(stack);
  };

  test('is rejected with its largest variables, including added ones', () => {
    expect(queueWith({ MINE: 'x'.repeat(3_900) })).toThrow(
      /process-tasks\] the environment variables take about \d{4} bytes, and Lambda accepts 4096; the largest are MINE \(3904\), SETTINGS_PROCESS_TASKS \(\d+\).* Remedy: shorten them/,
    );
  });

  test('is accepted below the limit', () => {
    expect(queueWith({ MINE: 'x'.repeat(1_500) })).not.toThrow();
  });
});

const LOGS = { level: ApplicationLogLevel.WARN, retention: RetentionDays.ONE_YEAR };

test.each([
  ['LifoQueue', Synthesized.queue({ logs: LOGS, ingest: {} }), FUNCTIONS],
  ['AgentQueue', Synthesized.agentQueue({ logs: LOGS }), Object.keys(AGENT_QUEUE.environment)],
] as const)(
  'the logs of %s use the configured level and retention, and are retained with the table',
  (_kind, synthesized, functions) => {
    for (const name of functions) {
      expect(synthesized.fn(name).LoggingConfig.ApplicationLogLevel).toBe('WARN');
      expect(synthesized.at(`${name}/logs`).Properties.RetentionInDays).toBe(365);
      expect(synthesized.at(`${name}/logs`).DeletionPolicy).toBe('RetainExceptOnCreate');
    }
  },
);

describe('active tracing, which X-Ray bills per recorded invocation,', () => {
  /** Returns the functions with active tracing, after a check that exactly these can send segments. */
  function traced(synthesized: Synthesized, functions: readonly string[]): string[] {
    const active = functions.filter((name) => synthesized.fn(name).TracingConfig.Mode === 'Active');
    const allowed = functions.filter((name) =>
      synthesized.policy(`${name}/role`).some(({ actions }) => actions.includes('xray:PutTraceSegments')),
    );
    expect(active).toEqual(allowed);
    const others = functions.filter((name) => !active.includes(name));
    for (const name of others) expect(synthesized.fn(name).TracingConfig).toEqual({ Mode: 'PassThrough' });
    return active;
  }

  test('is off without traces', () => {
    expect(traced(Synthesized.queue({ ingest: {} }), FUNCTIONS)).toEqual([]);
    expect(traced(Synthesized.agentQueue(), Object.keys(AGENT_QUEUE.environment))).toEqual([]);
  });

  test('is on with traces for the functions that record segments', () => {
    const recording = ['create-tasks', 'ingest-tasks', 'trigger', 'process-tasks'];
    expect(traced(Synthesized.queue({ ingest: {}, traces: {} }), FUNCTIONS)).toEqual(recording);
  });
});
