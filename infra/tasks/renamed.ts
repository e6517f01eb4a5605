import type { Problem } from '../lambda/problem';

/** The old names of settings, from before the first release, with the current names. */
const RENAMED: Readonly<Record<string, string>> = {
  'processing.slots': 'processing.concurrency',
  'tasks.foreignWriters': 'tasks.allowDirectWrites',
};

/** A problem for each setting with an old name. Without this check the setting would have no effect. */
export function renamedProblems(settings: object): Problem[] {
  return Object.entries(RENAMED)
    .filter(([old]) => {
      const [group = '', name = ''] = old.split('.');
      const given: unknown = Reflect.get(settings, group);
      return typeof given === 'object' && given !== null && name in given;
    })
    .map(([old, now]) => ({ setting: old, rule: `the setting is now ${now}`, remedy: `write ${now}` }));
}
