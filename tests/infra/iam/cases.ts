import { CiRolesStack } from '../../../infra/ci/ci-roles-stack';
import { ENVIRONMENT_NAMES } from '../../../infra/environments/list';
import { newApp, Synthesized } from '../synthesis';
import { VARIANTS } from '../variants';

function ciRoles(): CiRolesStack {
  const settings = {
    repository: 'octo-org/freshq',
    environments: ['staging', 'prod'],
    branch: 'main',
    qualifier: 'hnb659fds',
  };
  return new CiRolesStack(newApp(), { settings });
}

/**
 * All templates of this repository: both stacks of every environment, the roles of GitHub Actions, and queues with
 * every option.
 */
export const TEMPLATES: readonly (readonly [name: string, template: Synthesized])[] = [
  ...ENVIRONMENT_NAMES.flatMap((name) => [
    [`LifoQueue-${name}`, Synthesized.environment(name)] as const,
    [`AgentQueue-${name}`, Synthesized.agents(name)] as const,
  ]),
  ['the roles of GitHub Actions', new Synthesized(ciRoles())] as const,
  ...Object.entries(VARIANTS).map(([name, build]) => [name, new Synthesized(build())] as const),
];
