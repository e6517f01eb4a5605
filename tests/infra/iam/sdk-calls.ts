import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../synthesis';
import { CallGraph, type SdkCall } from './call-graph';
import { type RustFile, type RustFunction, readCrate } from './rust-source';

/**
 * The calls of the AWS SDK, by the method that begins one, and the IAM action that AWS asks for (Service Authorization
 * Reference). A call that is not here fails a test, so that nobody adds one without its action.
 */
export const SDK_CALLS: Readonly<Record<string, string>> = {
  batch_get_item: 'dynamodb:BatchGetItem',
  batch_write_item: 'dynamodb:BatchWriteItem',
  delete_item: 'dynamodb:DeleteItem',
  get_item: 'dynamodb:GetItem',
  put_item: 'dynamodb:PutItem',
  query: 'dynamodb:Query',
  scan: 'dynamodb:Scan',
  update_item: 'dynamodb:UpdateItem',
  invoke: 'lambda:InvokeFunction',
  get_secret_value: 'secretsmanager:GetSecretValue',
  publish: 'sns:Publish',
  publish_batch: 'sns:Publish',
  change_message_visibility: 'sqs:ChangeMessageVisibility',
  change_message_visibility_batch: 'sqs:ChangeMessageVisibility',
  delete_message: 'sqs:DeleteMessage',
  delete_message_batch: 'sqs:DeleteMessage',
  receive_message: 'sqs:ReceiveMessage',
  send_message: 'sqs:SendMessage',
  send_message_batch: 'sqs:SendMessage',
  // No action of its own: AWS asks for that of each of its items.
  transact_write_items: '',
};

/** The items of a transaction, by the type that the SDK builds them of, and the action that AWS asks for. */
const TRANSACTION_ITEMS: Readonly<Record<string, string>> = {
  ConditionCheck: 'dynamodb:ConditionCheckItem',
  Delete: 'dynamodb:DeleteItem',
  Put: 'dynamodb:PutItem',
  Update: 'dynamodb:UpdateItem',
};

/** Methods of an SDK client that call nothing. */
const NO_CALLS = ['clone', 'config'];

/** Calls that only look as if a function could make them. */
export const UNREACHABLE: readonly {
  readonly function: string;
  readonly at: string;
  readonly reason: string;
}[] = [
  {
    function: 'process-tasks',
    at: 'DynamoStore::insert_item',
    reason: 'the `insert` that it calls is that of sets, which has the name of the store’s',
  },
  {
    function: 'agent-desk',
    at: 'AwsTeller::expired',
    reason: 'it tells assignments only: the sweep alone tells of calls that waited too long',
  },
  {
    function: 'match-calls',
    at: 'AwsTeller::expired',
    reason: 'it tells assignments only: the sweep alone tells of calls that waited too long',
  },
  {
    function: 'sweep-agents',
    at: 'Composer::nobody_waits',
    reason: 'only a new call must not overtake those that wait, and a sweep serves waiting ones',
  },
  {
    function: 'sweep-agents',
    at: 'DynamoStore::get',
    reason: 'it reads by queries alone; agents and calls are looked up by commands and by new calls',
  },
];

/** A call that a function of a queue can make. */
export interface Call {
  readonly action: string;
  /** The method, and where it stands. */
  readonly site: string;
}

/** The crates that the functions are made of. */
const CRATES = ['crates/agent-queue', 'crates/lambda', 'crates/lifo-queue'];
const libraries: readonly RustFile[] = CRATES.flatMap(readCrate);

/** The functions there are: the folders of `lambdas/`. */
export const FUNCTIONS: readonly string[] = readdirSync(join(ROOT, 'lambdas')).sort();

/** What a function's code reaches: functions, and the SDK's calls in them, what {@link UNREACHABLE} names among them. */
export function reach(name: string): { reached: ReadonlySet<RustFunction>; calls: SdkCall[] } {
  const own = readCrate(join('lambdas', name));
  const graph = new CallGraph([...libraries, ...own], new Set(Object.keys(SDK_CALLS)));
  const reached = graph.reached(own.flatMap(({ functions }) => functions));
  return { reached, calls: graph.calls(reached) };
}

/** What a function calls, action by action. */
export function callsOf(name: string): Call[] {
  const { reached, calls } = reach(name);
  const unreachable = UNREACHABLE.filter((each) => each.function === name).map(({ at }) => at);
  const made = calls.filter((call) => !unreachable.includes(qualified(call.in)));
  const direct = made
    .filter(({ method }) => SDK_CALLS[method] !== '')
    .map((call) => ({ action: SDK_CALLS[call.method] ?? '', site: siteOf(call.method, call.in) }));
  if (!made.some(({ method }) => method === 'transact_write_items')) return direct;
  const composing = [...reached].filter((each) => !unreachable.includes(qualified(each)));
  const items = composing.flatMap((each) =>
    Object.entries(TRANSACTION_ITEMS)
      .filter(([type]) => new RegExp(String.raw`\b${type}::builder\(\)`).test(each.code))
      .map(([, action]) => ({ action, site: siteOf(`transact_write_items`, each) })),
  );
  return [...direct, ...items];
}

/** The name of a function, with its type. */
export function qualified({ owner, name }: RustFunction): string {
  return owner === undefined ? name : `${owner}::${name}`;
}

function siteOf(method: string, within: RustFunction): string {
  return `\`${method}\` in \`${qualified(within)}\`, ${within.file}`;
}

/** Methods that are called on a field that holds a client of the SDK, and that no table above knows. */
export function unknownCalls(files: readonly RustFile[] = everyFile()): string[] {
  const clients = new Set(
    files
      .flatMap(({ types }) => types)
      .flatMap(({ code }) => [...code.matchAll(/\b(\w+):\s*(?:aws_sdk_\w+::)?Client\b/g)])
      .map(([, field = '']) => field),
  );
  return files.flatMap(({ file, code }) =>
    [...code.matchAll(/\bself\s*\.\s*(\w+)\s*\.\s*(\w+)\(/g)]
      .filter(
        ([, field = '', method = '']) =>
          clients.has(field) && !(method in SDK_CALLS) && !NO_CALLS.includes(method),
      )
      .map(([, field, method]) => `${method} of ${field} in ${file}`),
  );
}

function everyFile(): RustFile[] {
  return [...libraries, ...FUNCTIONS.flatMap((name) => readCrate(join('lambdas', name)))];
}
