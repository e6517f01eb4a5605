import { Duration } from 'aws-cdk-lib';
import { Synthesized } from './synthesis';

const FUNCTIONS = ['agent-desk', 'match-calls', 'sweep-agents'];

describe('the intake', () => {
  const INTAKE = 'call-intake/queue';

  test('follows its typed settings', () => {
    const synthesized = Synthesized.agentQueue({
      calls: {
        batchSize: 1,
        maxConcurrency: 8,
        functionTimeout: Duration.seconds(10),
        memorySize: 512,
        maxReceiveCount: 3,
      },
    });
    expect(synthesized.at('match-calls/calls').Properties).toMatchObject({
      BatchSize: 1,
      ScalingConfig: { MaximumConcurrency: 8 },
    });
    expect(synthesized.fn('match-calls')).toMatchObject({ Timeout: 10, MemorySize: 512 });
    const { RedrivePolicy, VisibilityTimeout } = synthesized.at(INTAKE).Properties;
    expect([VisibilityTimeout, RedrivePolicy.maxReceiveCount]).toEqual([60, 3]);
  });
});

describe('the environment', () => {
  test('follows every typed setting', () => {
    const synthesized = Synthesized.agentQueue({
      seed: true,
      agents: {
        order: 'lifo',
        dimensions: [
          { name: 'skill', attribute: 'Skills', multiValued: true },
          { name: 'site', attribute: 'Site', multiValued: false },
        ],
        callLease: Duration.hours(1),
      },
      calls: { maxWait: Duration.minutes(2) },
    });
    for (const name of FUNCTIONS) {
      expect(synthesized.settings(name)).toMatchObject({
        dimensions: [
          { name: 'skill', attribute: 'Skills', multiValued: true },
          { name: 'site', attribute: 'Site', multiValued: false },
        ],
        maxWaitMs: 120_000,
        order: 'lifo',
        callLeaseMs: 3_600_000,
        contentionWindow: 8,
        ...(name === 'agent-desk' && { seed: true }),
      });
    }
  });
});

describe('the sweep', () => {
  test('comes as often as it is set to', () => {
    const synthesized = Synthesized.agentQueue({ agents: { sweepInterval: Duration.minutes(5) } });
    const { ScheduleExpression } = synthesized.at('sweep-agents/regularly/schedule').Properties;
    expect(ScheduleExpression).toBe('rate(5 minutes)');
  });
});
