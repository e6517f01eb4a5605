import type { Allowed } from './allowed';
import { platformUse } from './platform';
import { type Call, callsOf, FUNCTIONS } from './sdk-calls';

/** What each function's own code calls. */
export const CALLS: ReadonlyMap<string, readonly Call[]> = new Map(
  FUNCTIONS.map((name) => [name, callsOf(name)]),
);

/** Who does what a function may do: AWS on its behalf, or places in its own code. */
export function callers({ function: name, action, resource }: Allowed): string[] {
  const platform = platformUse(action, resource);
  if (platform !== undefined) return [platform];
  const sites = (CALLS.get(name) ?? []).filter((call) => call.action === action).map(({ site }) => site);
  return [...new Set(sites)].sort();
}
