import { type ResourceDifference, ResourceImpact, type TemplateDiff } from '@aws-cdk/cloudformation-diff';

/** A change that can destroy data or removes a protection of data. */
export interface Hazard {
  /** Construct path of the resource, or its logical id. */
  readonly where: string;
  readonly type: string;
  /** The consequence, worded to complete a sentence that starts with {@link where}. */
  readonly happens: string;
}

/** Data that a deployment can't restore, by resource type. */
export const HOLDS: Readonly<Record<string, string>> = {
  'AWS::DynamoDB::Table': 'every item',
  'AWS::DynamoDB::GlobalTable': 'every item',
  'AWS::KMS::Key': 'the key, and all data that it encrypts',
  'AWS::Logs::LogGroup': 'the log',
  'AWS::S3::Bucket': 'every object',
  'AWS::SecretsManager::Secret': 'the secret',
  'AWS::SNS::Topic': 'the subscriptions that this stack did not create',
  'AWS::SQS::Queue': 'every message',
};

/**
 * Retention of an SQS queue that doesn't specify one, in seconds.
 * @see https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-sqs-queue.html
 */
const SQS_DEFAULT_RETENTION_SECONDS = 345_600;

/** Policies under which CloudFormation retains a resource or creates a snapshot of it. */
const KEEPS = ['Retain', 'RetainExceptOnCreate', 'RetainExceptOnDelete', 'Snapshot'];

/** Returns the hazards of deploying a difference: data that is removed or replaced, and protections that are lost. */
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
      return 'is removed from the stack, but retained in the account, where the stack no longer uses it';
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

/** Describes in-place changes that shorten a retention or remove a protection. */
function protectionsLost(change: ResourceDifference): (string | undefined)[] {
  const { oldValue: before, newValue: after } = change;
  if (before === undefined || after === undefined) return [];
  const was = before.Properties ?? {};
  const is = after.Properties ?? {};
  const policies = (['DeletionPolicy', 'UpdateReplacePolicy'] as const).map((policy) =>
    KEEPS.includes(before[policy]) && !KEEPS.includes(after[policy])
      ? `loses its ${policy} ${before[policy]}: a later removal or replacement deletes it`
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
    shortened(was.RetentionInDays, is.RetentionInDays, 'days', Number.POSITIVE_INFINITY),
    shortened(was.MessageRetentionPeriod, is.MessageRetentionPeriod, 's', SQS_DEFAULT_RETENTION_SECONDS),
    ...indexesLost(was.GlobalSecondaryIndexes, is.GlobalSecondaryIndexes),
  ];
}

function isOn(value: unknown): boolean {
  return value === true || value === 'true';
}

/**
 * Describes a retention that became shorter. `unset` is the retention of a resource that doesn't specify one. Values
 * that only CloudFormation knows are not compared.
 */
function shortened(was: unknown, is: unknown, unit: string, unset: number): string | undefined {
  const effective = (value: unknown) => (value === undefined ? unset : Number(value));
  const before = effective(was);
  const after = effective(is);
  if (Number.isNaN(before) || Number.isNaN(after) || after >= before) return undefined;
  const kept = before === Number.POSITIVE_INFINITY ? 'without limit' : `for ${before} ${unit}`;
  return `keeps its data for ${after} ${unit}, before ${kept}, and deletes older data`;
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
    .map((name) => `loses the index ${name}: its queries fail until it is created again and filled`);
}

/** Returns the permissions that a difference adds, or an empty list. */
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
      return oneLine(`removed: ${effect} ${action} on ${resource} to ${principal}`);
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
