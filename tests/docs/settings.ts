import { App, Duration, Stack } from 'aws-cdk-lib';
import { AgentQueue, LifoQueue, TaskRunner } from '../../infra';
import { InvalidConfiguration } from '../../infra/shared/problem';
import { markdownTable } from '../infra/generated';
import { Declarations, type Property } from './declarations';

/** A table on the page: its interfaces, and the path of their properties in the props. */
interface Section {
  readonly title: string;
  readonly names: readonly string[];
  readonly path?: string;
  /** The construct that checks the ranges, if any. */
  readonly queue?: 'tasks' | 'agents';
}

const SECTIONS: readonly Section[] = [
  { title: 'LifoQueue', names: ['LifoQueueProps', 'PartialQueueSettings'] },
  { title: 'tasks', names: ['TaskSettings'], path: 'tasks', queue: 'tasks' },
  { title: 'processing', names: ['ProcessingSettings'], path: 'processing', queue: 'tasks' },
  { title: 'processing.breaker', names: ['BreakerSettings'], path: 'processing.breaker', queue: 'tasks' },
  { title: 'processing.codel', names: ['CodelSettings'] },
  { title: 'processing.groups', names: ['GroupSettings'], path: 'processing.groups', queue: 'tasks' },
  { title: 'stream', names: ['StreamSettings'], path: 'stream', queue: 'tasks' },
  { title: 'ingest', names: ['IngestSettings'], path: 'ingest', queue: 'tasks' },
  {
    title: 'ingest.provisionedPollers',
    names: ['ProvisionedPollers'],
    path: 'ingest.provisionedPollers',
  },
  { title: 'ingest.admission', names: ['AdmissionSettings'], path: 'ingest.admission' },
  { title: 'alarms', names: ['AlarmSettings'], path: 'alarms', queue: 'tasks' },
  { title: 'traces', names: ['TraceSettings'], path: 'traces', queue: 'tasks' },
  { title: 'simulation', names: ['SimulationSettings'] },
  { title: 'simulation.load', names: ['SimulatedLoad'] },
  { title: 'TaskRunner.http', names: ['HttpRunnerProps', 'NetworkSettings'] },
  { title: 'HttpAuth.header', names: ['HeaderAuthProps'] },
  { title: 'HttpAuth.sigV4', names: ['SigV4AuthProps'] },
  { title: 'TaskRunner.rust', names: ['RustRunnerProps', 'NetworkSettings'] },
  { title: 'TaskRunner.simulated', names: ['SimulatedRunnerProps'] },
  { title: 'rates of TaskRunner.simulated', names: ['SimulatedRates'] },
  { title: 'AgentQueue', names: ['AgentQueueProps', 'PartialAgentQueueSettings'] },
  { title: 'agents', names: ['AgentSettings'], path: 'agents', queue: 'agents' },
  { title: 'agents.dimensions', names: ['Dimension'] },
  { title: 'calls', names: ['CallSettings'], path: 'calls', queue: 'agents' },
  { title: 'alarms of the agents’ queue', names: ['AgentAlarmSettings'], path: 'alarms', queue: 'agents' },
  { title: 'Environment', names: ['Environment'] },
];

/** The settings to decide on before production, each with its interface, property, and path in the props. */
const ESSENTIAL = [
  ['LifoQueueProps', 'runner', ''],
  ['LifoQueueProps', 'alarmTopic', ''],
  ['PartialQueueSettings', 'ingest', ''],
  ['ProcessingSettings', 'concurrency', 'processing.'],
  ['ProcessingSettings', 'ratePerSecond', 'processing.'],
  ['ProcessingSettings', 'taskTimeout', 'processing.'],
  ['TaskSettings', 'defaultTtl', 'tasks.'],
  ['TaskSettings', 'maxAttempts', 'tasks.'],
] as const;

/** Values outside every range: below every minimum, or neither a whole number nor whole seconds. */
const OUTSIDE: Record<string, readonly unknown[]> = {
  number: [-1.5],
  Duration: [Duration.millis(0), Duration.millis(1)],
};

export function settingsPage(): string {
  const declarations = new Declarations();
  const sections = SECTIONS.map((section) => {
    const properties = section.names.flatMap((name) => declarations.properties(name));
    return `## ${section.title}\n\n${table(section, properties)}`;
  });
  return `# Settings

Decide on these eight settings before production. All others have defaults that most queues keep. The [tenets](../explanation/tenets.md) state
which settings exist at all.

${essentials(declarations)}

## All settings

Generated from the declarations in [infra](../../infra) by \`make docs\`. A range is what synthesis accepts; \`–\` means that the
type alone limits the value. Durations are of the CDK, for example \`Duration.seconds(30)\`. Synthesis also checks settings
against each other and names each problem with its remedy.

A \`LifoQueue\` takes the settings groups \`tasks\`, \`processing\`, \`stream\`, \`ingest\` and \`alarms\`; an \`AgentQueue\` takes
\`agents\`, \`calls\` and \`alarms\`. \`Environment\` describes an element of
[infra/environments/list.ts](../../infra/environments/list.ts).

${sections.join('\n\n')}
`;
}

function essentials(declarations: Declarations): string {
  const rows = ESSENTIAL.map(([declared, name, path]) => {
    const property = declarations.properties(declared).find((each) => each.name === name);
    if (property === undefined) throw new Error(`${declared} has no property ${name}`);
    return [
      `\`${path}${name}\``,
      property.optional ? (property.fallback ?? 'none') : '**required**',
      property.meaning,
    ];
  });
  return markdownTable(['setting', 'default', 'meaning'], rows);
}

function table(section: Section, properties: readonly Property[]): string {
  const rows = properties.map((property) => [
    `\`${property.name}\``,
    `\`${property.type}\``,
    property.optional ? (property.fallback ?? 'none') : '**required**',
    range(section, property),
    property.meaning,
  ]);
  return markdownTable(['setting', 'type', 'default', 'range', 'meaning'], rows);
}

/** Returns the range of a setting, taken from the remedy for an out-of-range value. */
function range({ path, queue }: Section, { name, type }: Property): string {
  if (path === undefined || queue === undefined) return '–';
  const setting = `${path}.${name}`;
  for (const value of OUTSIDE[type] ?? []) {
    const settings = path
      .split('.')
      .reduceRight<object>((inner, key) => ({ [key]: inner }), { [name]: value });
    const remedy = problems(queue, settings).find((problem) => problem.setting === setting)?.remedy;
    const [, accepted] = /^choose (.+?)(?:; .*| \(.*)?$/.exec(remedy ?? '') ?? [];
    if (accepted !== undefined) return accepted.replace(/^a whole number /, '');
  }
  return '–';
}

function problems(queue: 'tasks' | 'agents', settings: object): InvalidConfiguration['problems'] {
  const stack = new Stack(new App());
  try {
    if (queue === 'tasks') new LifoQueue(stack, 'queue', { runner: TaskRunner.simulated(), ...settings });
    else new AgentQueue(stack, 'queue', settings);
    return [];
  } catch (error) {
    if (error instanceof InvalidConfiguration) return error.problems;
    throw error;
  }
}
