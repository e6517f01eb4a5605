import { NestedStack, Stack } from 'aws-cdk-lib';
import { AgentQueue } from '../../infra/agents/agent-queue';
import { AGENT_QUEUE } from '../../infra/contract/agents';
import { OPTIONAL_OUTPUTS, OUTPUTS } from '../../infra/contract/tasks';
import { LifoQueue } from '../../infra/tasks/lifo-queue';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';
import { newApp, Synthesized } from './synthesis';

function queueIn(stack: Stack, id: string): LifoQueue {
  return new LifoQueue(stack, id, { runner: TaskRunner.simulated(), ingest: {} });
}

test('both queues in a stack export the outputs that freshq requires', () => {
  const stack = new Stack(newApp(), 'test');
  queueIn(stack, 'queue').exportOutputs();
  new AgentQueue(stack, 'agents').exportOutputs();
  expect(Object.keys(new Synthesized(stack).outputs)).toEqual([
    ...OUTPUTS,
    ...OPTIONAL_OUTPUTS.ingest,
    ...AGENT_QUEUE.outputs,
  ]);
});

test('a second task queue in a stack cannot export outputs', () => {
  const stack = new Stack(newApp(), 'test');
  queueIn(stack, 'queue').exportOutputs();
  expect(() => queueIn(stack, 'other').exportOutputs()).toThrow(
    /test\/other cannot export its outputs: the stack test already has QueueTableName.* Remedy: export the outputs once/,
  );
});

describe('a task queue in a nested stack', () => {
  const stack = new Stack(newApp(), 'test');
  const inner = new NestedStack(new NestedStack(stack, 'outer'), 'inner');
  const queue = queueIn(inner, 'queue');
  queue.exportOutputs();

  test('exports its outputs from the stack that is deployed by name', () => {
    expect(Object.keys(new Synthesized(stack).outputs)).toEqual([...OUTPUTS, ...OPTIONAL_OUTPUTS.ingest]);
  });

  test('names this stack if the outputs are exported twice', () => {
    expect(() => queue.exportOutputs()).toThrow(/the stack test already has QueueTableName/);
  });
});
