import { Token } from 'aws-cdk-lib';
import { type Problem, problemIf } from './problem';

/**
 * Returns a problem if a resource is in another region than a queue. `rule` and `remedy` receive both regions. If one is
 * known only at deployment, there is no problem.
 */
export function regionProblem(
  setting: string,
  resource: { readonly env: { readonly region: string } },
  region: string | undefined,
  rule: (here: string, there: string) => string,
  remedy: (here: string) => string,
): Problem[] {
  const there = resource.env.region;
  if (region === undefined || Token.isUnresolved(region) || Token.isUnresolved(there)) return [];
  return problemIf(there !== region, setting, rule(region, there), remedy(region));
}
