import { RemovalPolicy } from 'aws-cdk-lib';
import { type Problem, problemIf } from '../shared/problem';
import type { Environment } from './list';

/** Pattern of environment names. They can't contain a dash, so a personal stack never has another environment's name. */
const ENVIRONMENT_NAME = /^[a-z][a-z0-9]{0,19}$/;

/** Pattern of personal stack names. */
const PERSONAL_NAME = /^[a-z]([a-z0-9-]{0,18}[a-z0-9])?$/;

/** Returns the stack name suffix of an environment: `dev`, or `dev-alice` for Alice's personal stacks. */
export function stackSuffix({ name, personal }: Environment): string {
  return personal === undefined ? name : `${name}-${personal}`;
}

/** Returns a problem if `name` is given but isn't the name of an environment. */
export function nameProblems(name: unknown, environments: readonly Environment[]): Problem[] {
  const names = environments.map((environment) => environment.name);
  return problemIf(
    name !== undefined && !names.some((each) => each === name),
    'env',
    `"${String(name)}" is not an environment`,
    `choose one of ${names.join(', ')}, for example -c env=${names[0]}, or omit it for all environments`,
  );
}

/** Returns the problems with an environment's name if it is invalid or another environment has the same name. */
export function ownNameProblems({ name }: Environment, environments: readonly Environment[]): Problem[] {
  return [
    ...problemIf(
      !ENVIRONMENT_NAME.test(name),
      'name',
      `"${name}" is not a valid environment name`,
      'use 1 to 20 lowercase letters and digits, a letter first; a dash would begin the name of a personal stack',
    ),
    ...problemIf(
      environments.filter((other) => other.name === name).length > 1,
      'name',
      `two environments have the name "${name}", and one would overwrite the stacks of the other`,
      'give each environment a different name',
    ),
  ];
}

/**
 * Returns the problems with personal stacks of the chosen environments.
 *
 * @param named whether an environment was named (`-c env=…`)
 */
export function personalProblems(
  personal: unknown,
  chosen: readonly Environment[],
  named: boolean,
): Problem[] {
  if (personal === undefined) return [];
  const setting = 'name';
  if (typeof personal !== 'string' || !PERSONAL_NAME.test(personal)) {
    return [
      {
        setting,
        rule: `"${String(personal)}" is not a valid personal stack name`,
        remedy: 'use 1 to 20 lowercase letters, digits and dashes, a letter first, for example -c name=alice',
      },
    ];
  }
  if (!named) {
    return [
      {
        setting,
        rule: 'a personal stack belongs to one environment, but no environment is given',
        remedy: `give the environment too, for example -c env=dev -c name=${personal}`,
      },
    ];
  }
  return chosen
    .filter(({ name, removalPolicy }) => name === 'prod' || removalPolicy !== RemovalPolicy.DESTROY)
    .map(({ name }) => ({
      setting,
      rule: `${name} has no personal stacks, because their tables would be retained after the deletion of the stacks`,
      remedy: 'use an environment with removalPolicy DESTROY, such as dev',
    }));
}

/** Returns a personal copy of an environment. Its stacks have the owner's tag and, to cut costs, no dashboards. */
export function personalized(environment: Environment, personal: string): Environment {
  return { ...environment, personal, dashboards: false, tags: { ...environment.tags, owner: personal } };
}
