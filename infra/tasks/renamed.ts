import type { Problem } from '../lambda/problem';

/** Settings by their names before the first release, and their names now. */
const RENAMED: Readonly<Record<string, string>> = {
  'processing.slots': 'processing.concurrency',
  'tasks.foreignWriters': 'tasks.allowDirectWrites',
};

/** The settings that are given by an old name, which would otherwise have no effect. */
export function renamedProblems(settings: object): Problem[] {
  return Object.entries(RENAMED)
    .filter(([old]) => {
      const [group = '', name = ''] = old.split('.');
      const given: unknown = Reflect.get(settings, group);
      return typeof given === 'object' && given !== null && name in given;
    })
    .map(([old, now]) => ({ setting: old, rule: `the setting is now ${now}`, remedy: `write ${now}` }));
}
