import { Synthesized } from './synthesis';

describe('the task table', () => {
  const prod = Synthesized.environment('prod').at('task-table/table');
  const dev = Synthesized.environment('dev').at('task-table/table');

  test('is on demand, keyed by task id, with the index by status and creation', () => {
    expect(prod.Properties).toMatchObject({
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [
        { AttributeName: 'taskId', AttributeType: 'S' },
        { AttributeName: 'taskStatus', AttributeType: 'S' },
        { AttributeName: 'taskCreated', AttributeType: 'N' },
      ],
      KeySchema: [{ AttributeName: 'taskId', KeyType: 'HASH' }],
      GlobalSecondaryIndexes: [
        {
          IndexName: 'task-status-created-index',
          KeySchema: [
            { AttributeName: 'taskStatus', KeyType: 'HASH' },
            { AttributeName: 'taskCreated', KeyType: 'RANGE' },
          ],
          Projection: {
            ProjectionType: 'INCLUDE',
            NonKeyAttributes: ['ttl', 'notBefore', 'leaseUntil', 'leaseToken', 'attempts'],
          },
        },
      ],
    });
    expect(prod.Properties.GlobalSecondaryIndexes).toHaveLength(1);
  });

  test('expires by ttl, streams both images, and is encrypted with a key of KMS', () => {
    for (const { Properties } of [prod, dev]) {
      expect(Properties.TimeToLiveSpecification).toEqual({ AttributeName: 'ttl', Enabled: true });
      expect(Properties.StreamSpecification).toEqual({ StreamViewType: 'NEW_AND_OLD_IMAGES' });
      expect(Properties.SSESpecification).toEqual({ SSEEnabled: true });
    }
  });

  test('is protected in prod and staging', () => {
    const staging = Synthesized.environment('staging').at('task-table/table');
    for (const table of [prod, staging]) {
      expect(table.DeletionPolicy).toBe('Retain');
      expect(table.UpdateReplacePolicy).toBe('Retain');
      expect(table.Properties.DeletionProtectionEnabled).toBe(true);
      expect(table.Properties.PointInTimeRecoverySpecification).toEqual({ PointInTimeRecoveryEnabled: true });
    }
  });

  test('goes with its stack in dev', () => {
    expect(dev.DeletionPolicy).toBe('Delete');
    expect(dev.UpdateReplacePolicy).toBe('Delete');
    expect(dev.Properties.DeletionProtectionEnabled).toBe(false);
    expect(dev.Properties.PointInTimeRecoverySpecification).toEqual({ PointInTimeRecoveryEnabled: false });
  });

  test('of a queue in another app is protected unless it says otherwise', () => {
    const table = Synthesized.queue().at('task-table/table');
    expect(table.DeletionPolicy).toBe('Retain');
    expect(table.Properties.DeletionProtectionEnabled).toBe(true);
    expect(table.Properties.PointInTimeRecoverySpecification).toEqual({ PointInTimeRecoveryEnabled: true });
  });
});
