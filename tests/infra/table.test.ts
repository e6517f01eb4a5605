import { Synthesized } from './synthesis';

test.each([
  ['tasks', Synthesized.queue().at('task-table/table')],
  ['agents', Synthesized.agentQueue().at('agent-table')],
])('the table of %s in another app is protected unless it says otherwise', (_kind, table) => {
  expect([table.DeletionPolicy, table.UpdateReplacePolicy]).toEqual(['Retain', 'Retain']);
  expect(table.Properties.DeletionProtectionEnabled).toBe(true);
  expect(table.Properties.PointInTimeRecoverySpecification).toEqual({ PointInTimeRecoveryEnabled: true });
});
