import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { App, Stack } from 'aws-cdk-lib';
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions';
import { AgentQueue, type AgentQueueProps } from '../../infra/agents/agent-queue';
import { AGENT_QUEUE } from '../../infra/contract/agents';
import { ENVIRONMENT } from '../../infra/contract/tasks';
import { ENVIRONMENTS, type Environment, type EnvironmentName } from '../../infra/environments/list';
import { NO_ALARM_TOPIC } from '../../infra/shared/alarms/alarm-topic';
import { PLACEHOLDER_WARNING } from '../../infra/shared/artifacts';
import { settingsVariable } from '../../infra/shared/function-settings';
import { AgentQueueStack } from '../../infra/stacks/agent-queue-stack';
import { LifoQueueStack } from '../../infra/stacks/lifo-queue-stack';
import { LifoQueue, type LifoQueueProps } from '../../infra/tasks/lifo-queue';
import { TaskRunner } from '../../infra/tasks/runners/task-runner';

export const ROOT = join(__dirname, '..', '..');

/** Each function's default settings, by the name of its settings variable. `tests/contract.json` has the full list. */
const USUAL = new Map(
  Object.entries(
    JSON.parse(readFileSync(join(ROOT, 'tests', 'contract.json'), 'utf8')).settings.defaults as object,
  ).map(([name, settings]) => [settingsVariable(name), settings as unknown]),
);

/** Returns the parts of a value that differ from `usual`, or `undefined` if there are none. */
function unusual(value: unknown, usual: unknown): unknown {
  if (JSON.stringify(value) === JSON.stringify(usual)) return undefined;
  if (![value, usual].every((each) => typeof each === 'object' && !Array.isArray(each))) return value ?? null;
  const [own, other] = [value, usual] as Record<string, unknown>[];
  return Object.fromEntries(
    Object.keys({ ...other, ...own }).map((name) => [name, unusual(own?.[name], other?.[name])]),
  );
}

/** A policy statement. Its resources are construct paths (`task-table/table.Arn`) instead of logical ids. */
export interface Statement {
  readonly effect: string;
  readonly actions: string[];
  readonly resources: string[];
  readonly conditions?: unknown;
  readonly principal?: unknown;
}

export interface Resource {
  readonly Type: string;
  // biome-ignore lint/suspicious/noExplicitAny: a template is whatever CloudFormation takes
  readonly Properties: any;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
  readonly DependsOn?: string[];
  readonly Metadata?: Record<string, string>;
}

/** Creates an app with the context of `cdk.json`, so that tests see what the CDK CLI deploys. */
export function newApp(context: Record<string, unknown> = {}): App {
  const { context: configured } = JSON.parse(readFileSync(join(ROOT, 'cdk.json'), 'utf8'));
  return new App({
    context: {
      ...configured,
      'aws:cdk:bundling-stacks': [],
      'aws:cdk:enable-path-metadata': true,
      ...context,
    },
    analyticsReporting: false,
  });
}

/** Returns this repository's environment with this name. */
export function environment(name: EnvironmentName): Environment {
  const found = ENVIRONMENTS.find((candidate) => candidate.name === name);
  if (found === undefined) throw new Error(`no environment ${name}`);
  return found;
}

/** Adds both stacks of an environment to an app. */
export function bothStacks(environment: Environment, app = newApp()): [LifoQueueStack, AgentQueueStack] {
  return [new LifoQueueStack(app, { environment }), new AgentQueueStack(app, { environment })];
}

/** The kinds of stacks, each with its synthesis function and the names of its functions. */
export const KINDS = [
  {
    kind: 'LifoQueue',
    synthesize: (...of: Parameters<typeof Synthesized.environment>) => Synthesized.environment(...of),
    functions: Object.keys(ENVIRONMENT),
  },
  {
    kind: 'AgentQueue',
    synthesize: (...of: Parameters<typeof Synthesized.agents>) => Synthesized.agents(...of),
    functions: Object.keys(AGENT_QUEUE.environment),
  },
] as const;

/** A synthesized stack. `queuePath` is the construct path of its queue. */
export class Synthesized {
  readonly template: Template;
  private readonly json: { Resources: Record<string, Resource>; Outputs?: Record<string, unknown> };

  constructor(
    readonly stack: Stack,
    private readonly queuePath = `${stack.node.path}/queue`,
  ) {
    this.template = Template.fromStack(stack);
    this.json = this.template.toJSON() as typeof this.json;
  }

  /** Synthesizes the task queue stack of one of this repository's environments. */
  static environment(name: EnvironmentName, changes: Partial<Environment> = {}): Synthesized {
    return new Synthesized(
      new LifoQueueStack(newApp(), { environment: { ...environment(name), ...changes } }),
    );
  }

  /** Synthesizes the agents' queue stack of one of this repository's environments. */
  static agents(name: EnvironmentName, changes: Partial<Environment> = {}): Synthesized {
    return new Synthesized(
      new AgentQueueStack(newApp(), { environment: { ...environment(name), ...changes } }),
    );
  }

  /** Synthesizes an agents' queue in its own app. */
  static agentQueue(props: AgentQueueProps = {}): Synthesized {
    const stack = new Stack(newApp(), 'test');
    new AgentQueue(stack, 'queue', props);
    return new Synthesized(stack);
  }

  /** Synthesizes a task queue in its own app, by default with the simulated runner. */
  static queue(props: Partial<LifoQueueProps> = {}): Synthesized {
    return Synthesized.of(() => props);
  }

  /** Synthesizes a task queue in its own app, with props that require a scope. */
  static of(props: (stack: Stack) => Partial<LifoQueueProps>): Synthesized {
    const stack = new Stack(newApp(), 'test');
    new LifoQueue(stack, 'queue', { runner: TaskRunner.simulated(), ...props(stack) });
    return new Synthesized(stack);
  }

  get outputs(): Record<string, unknown> {
    return this.json.Outputs ?? {};
  }

  get resources(): readonly (readonly [logicalId: string, resource: Resource])[] {
    return Object.entries(this.json.Resources);
  }

  all(type: string): Resource[] {
    return Object.values(this.json.Resources).filter((resource) => resource.Type === type);
  }

  /** Returns the resource at a construct path below the queue. The path does not end with `/Resource`. */
  at(path: string): Resource {
    const wanted = `${this.queuePath}/${path}/Resource`;
    const found = Object.values(this.json.Resources).find(
      ({ Metadata }) => Metadata?.['aws:cdk:path'] === wanted,
    );
    if (found === undefined) throw new Error(`no resource at ${wanted}`);
    return found;
  }

  /** Returns the properties of one of the functions. */
  // biome-ignore lint/suspicious/noExplicitAny: a template is whatever CloudFormation takes
  fn(name: string): any {
    return this.at(`${name}/function`).Properties;
  }

  /** Returns the settings that one of the functions reads. */
  // biome-ignore lint/suspicious/noExplicitAny: the settings of each function have their own shape
  settings(name: string): any {
    return JSON.parse(this.fn(name).Environment.Variables[settingsVariable(name)]);
  }

  policy(rolePath: string): Statement[] {
    return this.statements(this.at(`${rolePath}/DefaultPolicy`));
  }

  /** Returns the statements of a policy of any policy type. */
  statements(policy: Resource): Statement[] {
    return policy.Properties.PolicyDocument.Statement.map((raw: unknown) => this.statement(raw));
  }

  /** Returns a template statement in readable form. */
  // biome-ignore lint/suspicious/noExplicitAny: a template is whatever CloudFormation takes
  statement(raw: any): Statement {
    return {
      effect: raw.Effect,
      actions: [raw.Action ?? []].flat(),
      resources: [raw.Resource ?? []]
        .flat()
        .map((resource: unknown) => this.readable(resource))
        .sort(),
      ...(raw.Condition && { conditions: raw.Condition }),
      ...(raw.Principal && { principal: raw.Principal }),
    };
  }

  /** Returns a template value, with construct paths below the queue instead of logical ids. */
  readable(value: unknown): string {
    if (typeof value === 'string') return value;
    const [[intrinsic, argument] = []] = Object.entries(value as Record<string, unknown>);
    switch (intrinsic) {
      case 'Ref':
        return this.pathOf(argument as string);
      case 'Fn::GetAtt': {
        const [logicalId, attribute] = argument as [string, string];
        return `${this.pathOf(logicalId)}.${attribute}`;
      }
      case 'Fn::Join': {
        const [separator, parts] = argument as [string, unknown[]];
        return parts.map((part) => this.readable(part)).join(separator);
      }
      default:
        throw new Error(`cannot read ${JSON.stringify(value)}`);
    }
  }

  /** Returns the template with masked code hashes and only those function settings that differ from the defaults. */
  masked(): unknown {
    const text = JSON.stringify(this.json).replace(/"[0-9a-f]{64}\.zip"/g, '"<code>.zip"');
    return JSON.parse(text, (name, value) => {
      const usual = USUAL.get(name);
      return usual === undefined ? value : JSON.stringify(unusual(JSON.parse(value), usual) ?? {});
    });
  }

  /** Returns this stack's warnings, except those about placeholders and queues without an alarm topic. */
  warnings(): string[] {
    const usual = [PLACEHOLDER_WARNING, NO_ALARM_TOPIC];
    return this.allWarnings().filter((text) => !usual.some((id) => text.includes(id)));
  }

  /** Returns all of this stack's warnings, each with its id. */
  allWarnings(): string[] {
    return Annotations.fromStack(this.stack)
      .findWarning('*', Match.anyValue())
      .map(({ entry }) => String(entry.data));
  }

  private pathOf(logicalId: string): string {
    const path = this.json.Resources[logicalId]?.Metadata?.['aws:cdk:path'];
    if (path === undefined) return logicalId;
    return path
      .replace(`${this.queuePath}/`, '')
      .replace(`${this.stack.node.path}/`, '')
      .replace(/\/Resource$/, '');
  }
}
