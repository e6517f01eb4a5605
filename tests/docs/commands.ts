import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdownTable } from '../infra/generated';
import { ROOT } from './files';

const read = (...path: string[]) => readFileSync(join(ROOT, ...path), 'utf8');

/** Returns the text of the Makefile and, in order, of the files that it includes. */
export function makefiles(): string {
  const makefile = read('Makefile');
  const included = [...makefile.matchAll(/^include (.+)$/gm)].flatMap(([, files = '']) => files.split(' '));
  return [makefile, ...included.map((file) => read(file))].join('\n');
}

/** Returns the commands listed in the help of make, with their descriptions. */
export function makeCommands(): Map<string, string> {
  const lines = makefiles().matchAll(/^([a-z][a-z0-9-]*):.*?## (.+)$/gm);
  return new Map([...lines].map(([, name = '', says = '']) => [name, says]));
}

/** Returns the variables of a command, which its help lists in brackets. `NAME=` marks a required variable. */
export function variablesOf(command: string): Set<string> {
  const [, names = ''] = /\[([A-Z0-9_= ]+)\]$/.exec(makeCommands().get(command) ?? '') ?? [];
  return new Set(names.split(' ').map((name) => name.replace(/=$/, '')));
}

export function makeTargets(): Set<string> {
  return new Set([...makefiles().matchAll(/^([a-z][a-z0-9-]*):/gm)].map(([, name = '']) => name));
}

/** Returns the `freshq` verbs, with their descriptions from the help. */
export function freshqVerbs(): Map<string, string> {
  const [, body = ''] =
    /enum Verb \{\n([\s\S]*?)\n\}/.exec(read('crates', 'freshq', 'src', 'arguments.rs')) ?? [];
  const verbs = body.matchAll(/\/\/\/ (.+)\n(?:\s+#\[.+\]\n)?\s+(\w+)\(/g);
  return new Map([...verbs].map(([, says = '', name = '']) => [name.toLowerCase(), says]));
}

export function commandsPage(): string {
  const rows = (commands: Map<string, string>, before: string) =>
    [...commands].map(([name, says]) => [`\`${before} ${name}\``, says.replaceAll('<', '\\<')]);
  return `# Commands

Generated from the Makefile and from \`freshq\` by \`make docs\`.

## make

${markdownTable(['command', 'what it does'], rows(makeCommands(), 'make'))}

Variables: \`ENV\` (\`dev\`, \`staging\`, \`prod\` or your own environment; \`dev\` by default), \`NAME\` (a personal copy of the
stacks), \`QUEUE\` (\`lifo-queue\` or \`agent-queue\`), \`LOCAL=1\` (the local AWS of \`make local-up\`), \`YES=1\` (no prompt).

## freshq

The operators' command. \`make install-cli\` installs it.

${markdownTable(['command', 'what it does'], rows(freshqVerbs(), 'freshq'))}

\`--env NAME\` selects the queue of the stack \`LifoQueue-NAME\`, \`--stack NAME\` that of any stack with the outputs of the construct.
For \`agents\`, \`queues\`, \`match\`, \`call\` and \`agent\` the stack is \`AgentQueue-NAME\`. \`console\` shows both. Without these options, \`freshq\`
uses the environment variable \`FRESHQ_DEV\`, then \`FRESHQ_STACK\`, then \`FRESHQ_ENV\`. \`--dev\` selects the queue of
[\`freshq dev\`](../how-to/dev.md). \`--table NAME --process-tasks-topic ARN\` selects a queue without
CloudFormation. \`--region\`, \`--profile\` and \`--endpoint-url\` are those of the AWS CLI. \`--output json\` prints JSON for scripts.
\`freshq help VERB\` lists the other options.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | not everything was done; the output says why |
| 2 | the command line or the configuration is wrong; nothing was done |
| 3 | AWS, a file or the terminal failed; some of it may be done |
| 4 | the operator declined; nothing was done |
`;
}
