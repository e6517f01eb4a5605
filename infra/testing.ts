/** Assertions for the tests of your own CDK app: `import { QueueAssertions } from 'freshq/testing'`. */

import { isDeepStrictEqual } from 'node:util';
import { Duration, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import type { IGrantable, IRole } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { LifoQueue } from './tasks/lifo-queue';
import type { PartialQueueSettings } from './tasks/settings';

interface Document {
  readonly PolicyDocument: { readonly Statement: Statement[] };
}

/** The part of a template's policy that the assertions read. */
interface Policy {
  readonly Properties: Document & { readonly Roles?: unknown[] };
}

/** The part of a template's role that the assertions read. */
interface RoleResource {
  readonly Properties: { readonly ManagedPolicyArns?: unknown[]; readonly Policies?: Document[] };
}

interface Statement {
  readonly Effect: string;
  readonly Action?: unknown;
  readonly Resource?: unknown;
}

/** Assertions about a task queue. Each throws an error with the queue, the expected value and the actual value. */
export class QueueAssertions {
  private constructor(private readonly queue: LifoQueue) {}

  /** Returns assertions about a queue in your app. */
  static of(queue: LifoQueue): QueueAssertions {
    return new QueueAssertions(queue);
  }

  /** Asserts that the queue runs each task with a POST request to `url`. */
  runsTasksByHttp(url: string): void {
    const { runner } = this.queue._configured;
    this.expectEqual('the endpoint', runner.kind === 'http' ? runner.url : noneOf(runner.kind), url);
  }

  /** Asserts that the queue runs each task by invoking `fn`. */
  runsTasksByFunction(fn: IFunction): void {
    const { runner } = this.queue._configured;
    const found = runner.kind === 'lambda' ? runner.functionArn : noneOf(runner.kind);
    this.expectEqual('the function of the runner', found, fn.functionArn);
  }

  /** Asserts settings, with the defaults filled in. Compares only the settings in `expected`. */
  hasSettings(expected: PartialQueueSettings): void {
    this.expectSettings('', this.queue._configured.settings, expected);
  }

  /**
   * Asserts that the template lets a function or another principal with a role create tasks, as `grantCreate`,
   * `grantSend` or `grantPut` do. Synthesizes the app, so constructs that you add later have no effect.
   */
  letsCreateTasks(producer: IGrantable): void {
    const { createTasks, ingest, table } = this.queue;
    const role = roleOf(producer);
    const stack = Stack.of(role);
    const statements = statementsOf(Template.fromStack(stack), stack.resolve(role.roleName));
    const allowed = [
      ['lambda:InvokeFunction', createTasks.function.functionArn],
      ['dynamodb:PutItem', table.tableArn],
      ...(ingest ? [['sqs:SendMessage', ingest.queue.queueArn]] : []),
    ].some(([action, arn]) =>
      statements.some(
        ({ Effect, Action, Resource }) =>
          Effect === 'Allow' && contains(Action, action) && contains(Resource, stack.resolve(arn)),
      ),
    );
    if (!allowed) {
      throw new Error(
        `${role.node.path} may not create tasks of ${this.queue.node.path}. Remedy: call grantCreate, grantSend or grantPut of the queue.`,
      );
    }
  }

  private expectSettings(path: string, actual: unknown, expected: object): void {
    for (const [name, value] of Object.entries(expected)) {
      const at = path === '' ? name : `${path}.${name}`;
      const found = (actual as Readonly<Record<string, unknown>> | undefined)?.[name];
      if (typeof value === 'object' && value !== null && !(value instanceof Duration)) {
        this.expectSettings(at, found, value);
      } else {
        this.expectEqual(at, comparable(found), comparable(value));
      }
    }
  }

  /** Compares two values that might be known only at deployment. */
  private expectEqual(what: string, actual: unknown, expected: unknown): void {
    const stack = Stack.of(this.queue);
    const [found, wanted] = [stack.resolve(actual), stack.resolve(expected)];
    if (isDeepStrictEqual(found, wanted)) return;
    throw new Error(
      `${this.queue.node.path}: ${what} is ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`,
    );
  }
}

function noneOf(kind: string): string {
  return `none, because the runner is of the kind ${kind}`;
}

/** Makes durations of equal length compare as equal, whatever their unit. */
function comparable(value: unknown): unknown {
  return value instanceof Duration ? `${value.toMilliseconds()} ms` : value;
}

function roleOf({ grantPrincipal }: IGrantable): IRole {
  if ('roleName' in grantPrincipal) return grantPrincipal as IRole;
  throw new Error('letsCreateTasks needs a function or another principal with a role');
}

/** Returns the statements of a role, whose name is a template value: in its policies, managed and inline policies. */
function statementsOf(template: Template, roleName: unknown): Statement[] {
  const resources = <T>(type: string) =>
    Object.entries(template.findResources(type) as unknown as Record<string, T>);
  const roles = resources<RoleResource>('AWS::IAM::Role').filter(([id]) => contains({ Ref: id }, roleName));
  const own = roles.flatMap(([, { Properties }]) => Properties.Policies ?? []);
  const attached = roles.flatMap(([, { Properties }]) => Properties.ManagedPolicyArns ?? []);
  const policies = ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy']
    .flatMap((type) => resources<Policy>(type))
    .filter(([id, { Properties }]) => contains(Properties.Roles, roleName) || contains(attached, { Ref: id }))
    .map(([, { Properties }]) => Properties);
  return [...own, ...policies].flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
}

/** Whether a policy element, which is a value or a list of values, contains a value. */
function contains(element: unknown, value: unknown): boolean {
  return [element].flat().some((each) => isDeepStrictEqual(each, value));
}
