import { ENVIRONMENT_NAMES } from '../../../infra/environments';
import { Synthesized } from '../synthesis';
import { VARIANTS } from '../variants';

/** Every template that this repository answers for: both stacks of every environment, and queues with every option. */
export const TEMPLATES: readonly (readonly [name: string, template: Synthesized])[] = [
  ...ENVIRONMENT_NAMES.flatMap((name) => [
    [`LifoQueue-${name}`, Synthesized.environment(name)] as const,
    [`AgentQueue-${name}`, Synthesized.agents(name)] as const,
  ]),
  ...Object.entries(VARIANTS).map(([name, build]) => [name, new Synthesized(build())] as const),
];
