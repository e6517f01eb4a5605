import { Duration } from 'aws-cdk-lib';
import type { AgentSettings } from '../../infra/agents/settings';
import { Synthesized } from './synthesis';

test('the call queue uses the configured settings', () => {
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
  const { RedrivePolicy, VisibilityTimeout } = synthesized.at('call-intake/queue').Properties;
  expect([VisibilityTimeout, RedrivePolicy.maxReceiveCount]).toEqual([60, 3]);
});

// Even after answerWithin is removed, the sweep still returns the calls that agents have not answered.
test('the permissions of the sweep are independent of answerWithin', () => {
  const policy = (agents: AgentSettings) => Synthesized.agentQueue({ agents }).policy('sweep-agents/role');
  expect(policy({})).toEqual(policy({ answerWithin: Duration.seconds(20) }));
});
