import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { ROOT } from './files';
import { run } from './run';

// The code block in docs/how-to/dev.md that serves a Lambda function's handler.
const page = readFileSync(join(ROOT, 'docs', 'how-to', 'dev.md'), 'utf8');
const [, source = ''] = /^```js lambda\n([\s\S]*?)^```$/m.exec(page) ?? [];

/** Runs the block with another handler, on a free port instead of 3000. */
async function serve(handler: (task: unknown) => unknown): Promise<Server> {
  const servers: Server[] = [];
  const http = {
    createServer(listener: RequestListener) {
      const server = createServer(listener);
      servers.push(server);
      return { listen: (_port: number, host: string) => server.listen(0, host) };
    },
  };
  run(source, (name) => (name === 'node:http' ? http : { handler }));
  const [server] = servers;
  if (server === undefined) throw new Error('the block creates no server');
  await once(server, 'listening');
  return server;
}

test.each([
  [undefined, 200, ''],
  [{ outcome: 'success' }, 200, ''],
  [{ outcome: 'failure', reason: 'no such meter' }, 400, 'no such meter'],
  [{ outcome: 'retry', reason: 'locked' }, 500, 'locked'],
  [{ outcome: 'busy', retryAfterSeconds: 5 }, 429, ''],
  [{ outcome: 'unavailable' }, 502, ''],
  [new Error('out of memory'), 500, 'out of memory'],
])('handler result %j becomes status %i', async (result, status, text) => {
  const received: unknown[] = [];
  const server = await serve(async (task) => {
    received.push(task);
    if (result instanceof Error) throw result;
    return result;
  });
  try {
    const { port } = server.address() as AddressInfo;
    const task = { taskId: 'a', payload: { meter: 4711 } };
    const response = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: JSON.stringify(task) });
    expect([response.status, await response.text(), received]).toEqual([status, text, [task]]);
    const wait = result && 'retryAfterSeconds' in result ? String(result.retryAfterSeconds) : null;
    expect(response.headers.get('Retry-After')).toBe(wait);
  } finally {
    server.close();
  }
});
