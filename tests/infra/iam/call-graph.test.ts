import { CallGraph } from './call-graph';
import { count, parse } from './rust-source';
import { unknownCalls } from './sdk-calls';

const STORE = `
use aws_sdk_dynamodb::Client;
/// A brace in a comment: {
pub struct Store { client: Client, name: &'static str }
impl Store {
    pub fn new(client: Client) -> Self { Self { client, name: "}" } }
    fn update(&self, id: &str) -> Builder { self.client.update_item().key("{", '"', id) }
}
trait Tasks { async fn take(&self, id: &str) -> bool; async fn cancel(&self, id: &str) -> bool; }
#[async_trait]
impl Tasks for Store {
    async fn take(&self, id: &str) -> bool { self.update(id).send().await.is_ok() }
    async fn cancel(&self, id: &str) -> bool { self.client.delete_item().send().await.is_ok() }
}
impl Drop for Store {
    fn drop(&mut self) { forget(self.client.put_item()); }
}
fn forget<T>(_: T) {}
#[cfg(test)]
mod tests {
    fn helper() { client.query() }
}
`;

const MAIN = `
use store::{read, Store as Tasks};
fn main() { work(Tasks::new(client), vec![1, 2]); }
fn work(store: impl Anything, numbers: Vec<u8>) {
    let first: Option<u8> = None;
    BODY
}
`;

/** The calls of the SDK that a program reaches whose work is `body`. */
function called(body: string, main = MAIN): string[] {
  const own = parse('app', 'lambdas/app/src/main.rs', main.replace('BODY', body));
  const store = parse('store', 'crates/store/src/store.rs', STORE);
  const sdk = new Set(['update_item', 'delete_item', 'put_item', 'query']);
  const graph = new CallGraph([own, store], sdk);
  return graph.calls(graph.reached(own.functions)).map((call) => `${call.in.name}: ${call.method}`);
}

// `drop` has no caller in the code, and is reached wherever there is a store.
const DROPPED = 'drop: put_item';

test.each([
  ['a method, through another', 'store.take("id").await', [DROPPED, 'update: update_item']],
  ["a method of one name with other arguments: the standard library's", 'first.take()', [DROPPED]],
  ['nothing of what is not called', 'numbers.len()', [DROPPED]],
  ['what is handed on by its path', 'numbers.iter().map(Tasks::cancel)', [DROPPED, 'cancel: delete_item']],
  ['nothing that is only told', 'println!("store.cancel(id)")', [DROPPED]],
])('%s is reached', (_what, body, calls) => {
  expect(called(body).sort()).toEqual(calls.sort());
});

test('a type that is not mentioned is not there to be called', () => {
  expect(
    called(
      'store.take("id")',
      MAIN.replace('Tasks::new(client)', 'somebody').replace('Store as Tasks', 'load'),
    ),
  ).toEqual([]);
});

test('a type is there through the fields of another', () => {
  const holder = `struct Holder { store: store::Store }\n${MAIN.replace('Tasks::new(client)', 'Holder::load()').replace('Store as Tasks', 'Store')}`;
  expect(called('held.store.take("id")', holder)).toContain('update: update_item');
});

test.each([
  ['()', 0],
  ['( )', 0],
  ['(a)', 1],
  ['(a,)', 1],
  ['(a, b(c, d), [e, f])', 3],
  ['(map: HashMap<K, V>, f: impl Fn(A) -> Result<B, C>)', 2],
  ['(|a| a > b, c)', 2],
])('%s has %i', (code, arguments_) => {
  expect(count(code, 0)).toBe(arguments_);
});

test('a method of a client that the table does not know is told', () => {
  const added = STORE.replace('self.client.delete_item()', 'self\n.client\n.execute_statement()');
  expect(unknownCalls([parse('store', 'crates/store/src/store.rs', added)])).toEqual([
    'execute_statement of client in crates/store/src/store.rs',
  ]);
});
