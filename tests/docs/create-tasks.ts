import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdownTable } from '../infra/generated';
import { ROOT } from './files';

const read = (...path: string[]) => readFileSync(join(ROOT, ...path), 'utf8');
const CREATE = read('crates', 'lifo-queue', 'src', 'create.rs');
const SPEC = read('crates', 'lifo-queue', 'src', 'create', 'spec.rs');
const PAYLOAD = read('crates', 'lifo-queue', 'src', 'create', 'payload.rs');
const REQUEST = read('crates', 'lifo-queue', 'src', 'create', 'request.rs');

/** Description of each task field. The field names come from the parser. */
const MEANINGS: Record<string, string> = {
  group:
    "in a queue with [groups](../how-to/tenants.md), 1 to 128 bytes without `/`: the tenant, for example. The task's id becomes `<group>/<id>`",
  taskId: 'identifies the task: a second task with this id is not created. Default: a new UUID',
  key: 'instead of `taskId`: the task is the newest state of this [key](../explanation/keys.md)',
  sequence: 'with `key`: a whole number of 0 or more, which orders the states',
  payload: 'any JSON; the runner gets it unchanged',
  ttlSeconds: 'expiry, in whole seconds from `taskCreated`. Default: `tasks.defaultTtl`',
  taskCreated:
    'creation time, in milliseconds since 1970; newest first uses it. A time up to a minute ahead is replaced with the time of sending. A later one is rejected, as is a value in seconds. Default: the time of sending',
  delaySeconds:
    'earliest start, in whole seconds from `taskCreated`; less than the expiry. Without an active processor at that time, the task starts at the next sweep, up to a minute later. The delay does not change the place in the order. Default: 0',
};

/** Returns the value of a constant in the sources, which may be written as a product. */
function constant(source: string, name: string): number {
  const [, value] = new RegExp(`const ${name}: usize = ([\\d_ *]+);`).exec(source) ?? [];
  if (value === undefined) throw new Error(`no constant ${name}`);
  return value.split('*').reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1);
}

function fields(): string[][] {
  const [, list = ''] = /const FIELDS: .*?= \[([\s\S]*?)\];/.exec(SPEC) ?? [];
  return [...list.matchAll(/"(\w+)"/g)].map(([, name = '']) => {
    const meaning = MEANINGS[name];
    if (meaning === undefined) throw new Error(`the field ${name} of a task has no meaning here`);
    return [`\`${name}\``, meaning];
  });
}

/** Returns the fields of a struct that is serialized in camelCase, with their documentation. */
function members(name: string): string[][] {
  const [, body = ''] = new RegExp(`pub struct ${name} \\{\\n([\\s\\S]*?)\\n\\}`).exec(CREATE) ?? [];
  const found = body.matchAll(/((?: {4}\/\/\/ .+\n)+)(?: {4}#\[.+\]\n)* {4}pub (\w+):/g);
  const rows = [...found].map(([, says = '', field = '']) => [
    `\`${field.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())}\``,
    says.replaceAll('///', '').replace(/\s+/g, ' ').trim(),
  ]);
  if (rows.length === 0) throw new Error(`no fields of ${name}`);
  return rows;
}

function statuses(): string[][] {
  const found = REQUEST.matchAll(/^\/\/! \| (\d+) \| (.+) \|$/gm);
  const rows = [...found].map(([, status = '', says = '']) => [status, says]);
  if (rows.length === 0) throw new Error('no status codes of create-tasks');
  return rows;
}

export function createTasksPage(): string {
  const depth = constant(PAYLOAD, 'MAX_DEPTH');
  const text = constant(PAYLOAD, 'MAX_PAYLOAD_BYTES') / 1024;
  const item = constant(PAYLOAD, 'MAX_ITEM_BYTES') / 1024;
  const tasks = constant(CREATE, 'MAX_TASKS').toLocaleString('en');
  return `# create-tasks

Generated from the sources by \`make docs\`.

\`create-tasks\` is the Lambda function that creates tasks and reports the result of each. Its name is the stack output
\`CreateTasksFunctionName\`; \`queue.grantCreate(role)\` allows a role to invoke it. Messages of the
[ingest queue](../how-to/producers.md#the-ingest-queue) have the same tasks, but their sender gets no response.

## The request

\`\`\`json
{"tasks": [{"taskId": "order-4711", "payload": {"ip": "192.0.2.7"}, "ttlSeconds": 120}]}
\`\`\`

At most ${tasks} tasks. Over HTTP (a function URL or an HTTP API, payload format 2.0) the body of a POST is the same, or one task, or an
array of tasks. A queue with the setting \`simulation\` also accepts \`{"simulate": {"count": 100}}\`.

## The task

All fields are optional, and \`null\` means absent, except in \`payload\`. An unknown field is an error. A whole number can have any form, such as
\`120\`, \`120.0\` or \`1.2e2\`.

${markdownTable(['field', 'meaning'], fields())}

| limit | value | reason |
|---|---|---|
| tasks in a request | ${tasks} | their report fits into Lambda's response of 6 MB |
| a request | 6 MB, asynchronous 1 MB | [Lambda](https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html) |
| payload as JSON text | ${text} KiB | a DynamoDB item may have 400 KB, other attributes included |
| payload as DynamoDB counts it | ${item} KiB | an array of many small numbers takes more there than as text |
| nesting of the payload | ${depth} levels | DynamoDB allows 32 |
| numbers in the payload | integers of 64 bits, others as a program prints a double, with up to 17 digits: \`0.10000000000000001\` is delivered as \`0.1\` | others would reach the runner with another value; the error names the path, such as \`payload.readings[3]\`, and the fix is a string |
| names in the payload | 1 to 65,535 bytes | [DynamoDB](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html) |

## The response

\`\`\`json
{
  "created": [{"index": 0, "taskId": "order-4711"}],
  "duplicates": [],
  "failed": [{"index": 1, "taskId": "order-4712", "error": "ttlSeconds is 0; give a whole number of seconds from 1 to 316224000", "retryable": false}]
}
\`\`\`

Each task of the request is in exactly one list.

${markdownTable(['list', 'tasks in it'], members('CreateReport'))}

An entry of \`created\`, \`duplicates\` and \`outdated\`:

${markdownTable(['field', 'meaning'], members('CreatedTask'))}

An entry of \`failed\`:

${markdownTable(['field', 'meaning'], members('FailedTask'))}

A request that is malformed as a whole creates nothing. It is a function error, or 400 over HTTP, with an \`error\` that names the field and the
remedy. Over HTTP the status is:

${markdownTable(['status', 'meaning'], statuses())}

To repeat a request is safe if its tasks have a \`taskId\`: existing tasks become \`duplicates\`. A \`key\` without a \`sequence\` is a newer state
each time.

## From TypeScript

\`tests/e2e/test_producers.py\` runs both blocks. The role of the caller needs \`queue.grantCreate(role)\`, or \`queue.ingest.grantSend(role)\`.

Invoke the function, and read the response:

${block('invoke')}

Send to the ingest queue, up to ten messages in a request:

${block('sqs')}
`;
}

/** Returns an example from the examples folder as a code block, tagged with the example's name. */
function block(name: string): string {
  return `\`\`\`typescript ${name}\n${read('tests', 'docs', 'examples', `${name}.mts`)}\`\`\``;
}
