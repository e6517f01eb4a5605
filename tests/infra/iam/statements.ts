import type { Resource, Statement, Synthesized } from '../synthesis';

/**
 * Kind of a policy document: a role's permissions, permissions on a resource, or principals that can assume a role.
 */
export type DocumentKind = 'identity' | 'resource' | 'trust';

/** A template statement and its location. */
export interface Held extends Statement {
  readonly kind: DocumentKind;
  /** Construct path of the resource that has the policy document. */
  readonly at: string;
  /** Construct paths of the resources to which the document is attached: roles, queues, topics, a bucket, a key. */
  readonly attachedTo: readonly string[];
  /** Negated elements of the statement, such as `NotAction`. This project does not use them. */
  readonly negated: readonly string[];
}

/** Properties that list the resources to which a policy is attached, by policy type. */
const ATTACHED_BY: Readonly<Record<string, readonly string[]>> = {
  'AWS::IAM::Policy': ['Roles', 'Users', 'Groups'],
  'AWS::IAM::ManagedPolicy': ['Roles', 'Users', 'Groups'],
  'AWS::SQS::QueuePolicy': ['Queues'],
  'AWS::SNS::TopicPolicy': ['Topics'],
};

/**
 * Returns every statement in every policy document of a template. Any object with a `Statement` element counts as a
 * policy document, so unexpected resource types are covered too.
 */
export function everyStatement(synthesized: Synthesized): Held[] {
  return synthesized.resources.flatMap(([logicalId, resource]) =>
    documents(resource.Properties).flatMap(({ document, key }) =>
      document.Statement.map((raw) => ({
        ...synthesized.statement(raw),
        kind: kindOf(resource, key),
        at: synthesized.readable({ Ref: logicalId }),
        attachedTo: attachedTo(synthesized, logicalId, resource),
        negated: ['NotAction', 'NotResource', 'NotPrincipal'].filter((element) => element in raw),
      })),
    ),
  );
}

interface Document {
  readonly Statement: readonly Record<string, unknown>[];
}

/** Returns all policy documents within a value, each with the name of its property. */
function documents(value: unknown, key = ''): { document: Document; key: string }[] {
  if (Array.isArray(value)) return value.flatMap((each) => documents(each, key));
  if (typeof value !== 'object' || value === null) return [];
  if ('Statement' in value) {
    return [{ document: { Statement: [value.Statement].flat() as Document['Statement'] }, key }];
  }
  return Object.entries(value).flatMap(([name, each]) => documents(each, name));
}

function kindOf({ Type }: Resource, key: string): DocumentKind {
  if (key === 'AssumeRolePolicyDocument') return 'trust';
  return Type.startsWith('AWS::IAM::') ? 'identity' : 'resource';
}

function attachedTo(synthesized: Synthesized, logicalId: string, { Type, Properties }: Resource): string[] {
  const properties = ATTACHED_BY[Type];
  if (properties === undefined) return [synthesized.readable({ Ref: logicalId })];
  return properties.flatMap((property) =>
    ((Properties[property] ?? []) as unknown[]).map((each) => synthesized.readable(each)),
  );
}
