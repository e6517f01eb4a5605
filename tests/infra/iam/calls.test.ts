import { AGENT_QUEUE } from '../../../infra/contract/agents';
import { ENVIRONMENT } from '../../../infra/contract/tasks';
import { EVERYTHING } from './allowed';
import { CALLS, callers } from './callers';
import { PLATFORM, platformUse } from './platform';
import { FUNCTIONS, qualified, reach, UNREACHABLE, unknownCalls } from './sdk-calls';

test('every function of the contract is looked at', () => {
  expect(FUNCTIONS).toEqual([...Object.keys(ENVIRONMENT), ...Object.keys(AGENT_QUEUE.environment)].sort());
});

describe.each(FUNCTIONS)('%s', (name) => {
  const allowed = EVERYTHING.filter((each) => each.function === name);
  const calls = CALLS.get(name) ?? [];

  test('may do nothing that nobody calls', () => {
    const idle = allowed.filter((each) => callers(each).length === 0);
    expect(idle).toEqual([]);
    expect(allowed.length).toBeGreaterThan(0);
  });

  test('calls nothing that it may not do', () => {
    const own = allowed.filter(({ action, resource }) => platformUse(action, resource) === undefined);
    const refused = calls.filter((call) => !own.some(({ action }) => action === call.action));
    expect(refused).toEqual([]);
    expect(calls.length).toBeGreaterThan(0);
  });
});

test('everything that is taken for unreachable would otherwise be reached', () => {
  for (const { function: name, at } of UNREACHABLE)
    expect([...reach(name).reached].map(qualified)).toContain(at);
});

test("every use of AWS's own is of an action that some function has", () => {
  const used = PLATFORM.flatMap(({ actions, reason }) => actions.map((action) => `${action}: ${reason}`));
  const found = EVERYTHING.map(({ action, resource }) => `${action}: ${platformUse(action, resource)}`);
  for (const each of used) expect(found).toContain(each);
});

test('no client of the SDK is called in a way that the table does not know', () => {
  expect(unknownCalls()).toEqual([]);
});
