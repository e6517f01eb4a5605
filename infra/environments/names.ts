import { RemovalPolicy } from 'aws-cdk-lib';
import type { Problem } from '../lambda/problem';
import type { Environment } from './list';

/** Names of environments have no dash, so that a personal stack never has another environment's name. */
const ENVIRONMENT_NAME = /^[a-z][a-z0-9]{0,19}$/;

/** Names of personal stacks. */
const PERSONAL_NAME = /^[a-z]([a-z0-9-]{0,18}[a-z0-9])?$/;

/** What the names of an environment's stacks end with: `dev`, or `dev-alice` for Alice's own. */
export function stackSuffix({ name, personal }: Environment): string {
  return personal === undefined ? name : `${name}-${personal}`;
}

/** Whether `name` is an environment's, and every environment has a name of its own. */
export function nameProblems(name: unknown, environments: readonly Environment[]): Problem[] {
  const names = environments.map((environment) => environment.name);
  if (name === undefined || names.some((each) => each === name)) return [];
  return [
    {
      setting: 'env',
      rule: `"${String(name)}" is not an environment`,
      remedy: `choose one of ${names.join(', ')}, for example -c env=${names[0]}, or leave it out for all`,
    },
  ];
}

/** What cannot work about an environment's own name among the others'. */
export function ownNameProblems({ name }: Environment, environments: readonly Environment[]): Problem[] {
  const problems: Problem[] = [];
  if (!ENVIRONMENT_NAME.test(name)) {
    problems.push({
      setting: 'name',
      rule: `"${name}" cannot name an environment`,
      remedy:
        'use 1 to 20 small letters and digits, a letter first; a dash begins the name of a personal stack',
    });
  }
  if (environments.filter((other) => other.name === name).length > 1) {
    problems.push({
      setting: 'name',
      rule: `two environments are named "${name}", and one would overwrite the other's stacks`,
      remedy: 'give each a name of its own',
    });
  }
  return problems;
}

/** What cannot work about personal stacks of these environments. */
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
        rule: `"${String(personal)}" cannot name a personal stack`,
        remedy: 'use 1 to 20 small letters, digits and dashes, a letter first, for example -c name=alice',
      },
    ];
  }
  if (!named) {
    return [
      {
        setting,
        rule: 'a personal stack is of one environment, and none is named',
        remedy: `name it too, for example -c env=dev -c name=${personal}`,
      },
    ];
  }
  return chosen
    .filter(({ name, removalPolicy }) => name === 'prod' || removalPolicy !== RemovalPolicy.DESTROY)
    .map(({ name }) => ({
      setting,
      rule: `${name} has no personal stacks: their tables would outlive them`,
      remedy: 'use an environment with removalPolicy DESTROY, such as dev',
    }));
}

/** A personal copy of an environment: separate stacks with a tag of their owner, without dashboards, which cost. */
export function personalized(environment: Environment, personal: string): Environment {
  return { ...environment, personal, dashboards: false, tags: { ...environment.tags, owner: personal } };
}
