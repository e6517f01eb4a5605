import { Synthesized } from './synthesis';

/**
 * Defects of the published newest-first sample that only a template can show. The others are in
 * `tests/conformance/tests/turns/defects.rs`.
 */
describe.each(['dev', 'staging', 'prod'] as const)('in %s', (name) => {
  const stack = Synthesized.environment(name);
  const functions = ['create-tasks', 'trigger', 'process-tasks', 'sweep-tasks', 'count-shed'];

  test('defect 1: DynamoDB deletes by the attribute that holds epoch seconds, and what it deletes is counted', () => {
    const { TimeToLiveSpecification } = stack.at('task-table/table').Properties;
    expect(TimeToLiveSpecification).toEqual({ AttributeName: 'ttl', Enabled: true });
    expect(stack.fn('count-shed')).toBeDefined();
  });

  test('defect 4: Lambda allows the loop of the tail call, and no other loop', () => {
    const allowed = functions.filter((fn) => stack.fn(fn).RecursiveLoop === 'Allow');
    expect(allowed).toEqual(['trigger', 'process-tasks']);
  });

  test('defect 8: events that Lambda throttles are discarded before they could delay a real wake-up', () => {
    const config = stack.at('process-tasks/function/EventInvokeConfig').Properties;
    expect(config.MaximumEventAgeInSeconds).toBeLessThanOrEqual(300);
  });

  test('defect 9: the index projects what selection and the sweep need, and no payload', () => {
    const [index] = stack.at('task-table/table').Properties.GlobalSecondaryIndexes;
    expect(index.Projection.ProjectionType).toBe('INCLUDE');
    expect(index.Projection.NonKeyAttributes).not.toContain('payload');
  });

  test('defect 10: logs are JSON, and every function has a failure queue', () => {
    for (const fn of functions) {
      expect(stack.fn(fn).LoggingConfig.LogFormat).toBe('JSON');
      const { DestinationConfig } = stack.at(`${fn}/function/EventInvokeConfig`).Properties;
      expect(DestinationConfig.OnFailure.Destination).toBeDefined();
    }
  });
});
