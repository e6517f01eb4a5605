import { type ResourceDifference, ResourceImpact, type TemplateDiff } from '@aws-cdk/cloudformation-diff';

/** A change that may destroy data, or that broadens a permission. */
export interface Hazard {
  /** Where it is: the construct's path, or the logical id. */
  readonly where: string;
  /** The CloudFormation type. */
  readonly type: string;
  /** What happens, as the end of a sentence that begins with {@link where}. */
  readonly happens: string;
}

/** The data of each type of resource, which no deployment restores. */
const HOLDS: Readonly<Record<string, string>> = {
  'AWS::DynamoDB::Table': 'every item',
  'AWS::DynamoDB::GlobalTable': 'every item',
  'AWS::KMS::Key': 'the key, and whatever it encrypts',
  'AWS::Logs::LogGroup': 'the log',
  'AWS::S3::Bucket': 'every object',
  'AWS::SecretsManager::Secret': 'the secret',
  'AWS::SNS::Topic': 'the subscriptions that were not made here',
  'AWS::SQS::Queue': 'every message',
};

/** Policies under which CloudFormation leaves a resource alone. */
const KEEPS = ['Retain', 'RetainExceptOnCreate', 'RetainExceptOnDelete', 'Snapshot'];

/** What may be lost when this difference is deployed: removal, replacement, and protection that is taken away. */
export function dataHazards(diff: TemplateDiff): Hazard[] {
  const hazards: Hazard[] = [];
  diff.resources.forEachDifference((logicalId, change) => {
    const type = change.oldResourceType;
    const holds = type === undefined ? undefined : HOLDS[type];
    if (type === undefined || holds === undefined) return;
    const where = pathOf(logicalId, change);
    for (const happens of [impactOn(change, holds), ...protectionsLost(change)]) {
      if (happens !== undefined) hazards.push({ where, type, happens });
    }
  });
  return hazards;
}

function impactOn(change: ResourceDifference, holds: string): string | undefined {
  const replaced = KEEPS.includes(change.oldValue?.UpdateReplacePolicy)
    ? 'the old one stays in the account, outside the stack, and the new one is empty'
    : `the old one is deleted, with ${holds}`;
  switch (change.changeImpact) {
    case ResourceImpact.WILL_DESTROY:
      return `is deleted, with ${holds}`;
    case ResourceImpact.WILL_ORPHAN:
      return 'leaves the stack; it stays in the account, retained, and nothing uses it any more';
    case ResourceImpact.WILL_REPLACE:
      return `is replaced (${causes(change)}): ${replaced}`;
    case ResourceImpact.MAY_REPLACE:
      return `may be replaced (${causes(change)}): then ${replaced}`;
    default:
      return undefined;
  }
}

function causes(change: ResourceDifference): string {
  if (change.oldResourceType !== change.newResourceType) return `it becomes ${change.newResourceType}`;
  const replacing = [ResourceImpact.WILL_REPLACE, ResourceImpact.MAY_REPLACE];
  return Object.entries(change.propertyUpdates)
    .filter(([, { changeImpact }]) => changeImpact !== undefined && replacing.includes(changeImpact))
    .map(([property]) => property)
    .join(', ');
}

/** Changes in place after which less is kept, or less is safe. */
function protectionsLost(change: ResourceDifference): (string | undefined)[] {
  const { oldValue: before, newValue: after } = change;
  if (before === undefined || after === undefined) return [];
  const was = before.Properties ?? {};
  const is = after.Properties ?? {};
  const policies = (['DeletionPolicy', 'UpdateReplacePolicy'] as const).map((policy) =>
    KEEPS.includes(before[policy]) && !KEEPS.includes(after[policy])
      ? `loses its ${policy} ${before[policy]}: what removes it next also deletes it`
      : undefined,
  );
  return [
    ...policies,
    isOn(was.DeletionProtectionEnabled) && !isOn(is.DeletionProtectionEnabled)
      ? 'loses its deletion protection'
      : undefined,
    isOn(was.PointInTimeRecoverySpecification?.PointInTimeRecoveryEnabled) &&
    !isOn(is.PointInTimeRecoverySpecification?.PointInTimeRecoveryEnabled)
      ? 'loses its point-in-time recovery, and with it every backup of the last 35 days'
      : undefined,
    shortened(was.RetentionInDays, is.RetentionInDays, 'days'),
    shortened(was.MessageRetentionPeriod, is.MessageRetentionPeriod, 's'),
    ...indexesLost(was.GlobalSecondaryIndexes, is.GlobalSecondaryIndexes),
  ];
}

function isOn(value: unknown): boolean {
  return value === true || value === 'true';
}

/** A log group without retention keeps everything. A period that only CloudFormation knows is not compared. */
function shortened(was: unknown, is: unknown, unit: string): string | undefined {
  const before = was === undefined ? Number.POSITIVE_INFINITY : Number(was);
  const after = Number(is);
  if (is === undefined || Number.isNaN(before) || Number.isNaN(after) || after >= before) return undefined;
  const kept = before === Number.POSITIVE_INFINITY ? 'the default' : `${before} ${unit}`;
  return `keeps what it holds for ${after} ${unit} instead of ${kept}, and drops what is older`;
}

interface Index {
  readonly IndexName?: unknown;
}

function indexesLost(was: unknown, is: unknown): string[] {
  const names = (indexes: unknown) =>
    Array.isArray(indexes) ? indexes.map(({ IndexName }: Index) => String(IndexName)) : [];
  const left = names(is);
  return names(was)
    .filter((name) => !left.includes(name))
    .map((name) => `loses the index ${name}: queries of it fail until it is made again and filled`);
}

/** The permissions that this difference broadens; empty if none. */
export function broadenedPermissions(diff: TemplateDiff): string[] {
  const { statements, managedPolicies } = diff.iamChanges;
  const grants = statements.additions
    .filter((statement) => !statement.isNegativeStatement)
    .map((statement) => {
      const { effect, action, resource, principal, condition } = statement.render();
      const when = condition ? ` if ${condition}` : '';
      return oneLine(`${effect} ${action} on ${resource} to ${principal}${when}`);
    });
  const lifted = statements.removals
    .filter((statement) => statement.isNegativeStatement)
    .map((statement) => {
      const { effect, action, resource, principal } = statement.render();
      return oneLine(`no more: ${effect} ${action} on ${resource} to ${principal}`);
    });
  const attached = managedPolicies.additions.map(({ identityArn, managedPolicyArn }) =>
    oneLine(`attach ${managedPolicyArn} to ${identityArn}`),
  );
  return [...grants, ...lifted, ...attached];
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function pathOf(logicalId: string, { oldValue, newValue }: ResourceDifference): string {
  const path: unknown = (newValue ?? oldValue)?.Metadata?.['aws:cdk:path'];
  return typeof path === 'string' ? path.replace(/\/Resource$/, '') : logicalId;
}
