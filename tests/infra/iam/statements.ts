import type { Resource, Statement, Synthesized } from '../synthesis';

/** What a policy document is for: what its holder may do, who may use the resource, or who may take on the role. */
export type DocumentKind = 'identity' | 'resource' | 'trust';

/** A statement of a template, and where it stands. */
export interface Held extends Statement {
  readonly kind: DocumentKind;
  /** The construct path of the resource that has the policy document. */
  readonly at: string;
  /** Construct paths of what the document is attached to: roles, queues, topics, a bucket, a key. */
  readonly attachedTo: readonly string[];
  /** Elements that this project does without, since they allow what they do not name. */
  readonly negated: readonly string[];
}

/** Properties that name what a policy is attached to, by the type of the resource. */
const ATTACHED_BY: Readonly<Record<string, readonly string[]>> = {
  'AWS::IAM::Policy': ['Roles', 'Users', 'Groups'],
  'AWS::IAM::ManagedPolicy': ['Roles', 'Users', 'Groups'],
  'AWS::SQS::QueuePolicy': ['Queues'],
  'AWS::SNS::TopicPolicy': ['Topics'],
};

/**
 * Every statement of every policy document of a template, whatever has it: any object with an array `Statement`
 * counts, so an unexpected kind of resource is covered too.
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

/** The policy documents anywhere in a value, each with the property that it is the value of. */
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
