// BullMQ behind HTTP, as `freshq dev` is: POST /tasks adds jobs, POST /start starts the worker.
import { createServer } from 'node:http';
import { Queue, Worker } from 'bullmq';
import { caller } from './call.mjs';

const { port, downstream, slots, rate, timeout, redis } = JSON.parse(process.argv[2]);
const connection = { host: '127.0.0.1', port: redis, maxRetriesPerRequest: null };
const options = {
  lifo: true,
  attempts: 5,
  backoff: { type: 'exponential', delay: 1000 },
  removeOnComplete: true,
};
const call = caller(downstream, slots, timeout);
const limiter = rate ? { limiter: { max: rate, duration: 1000 } } : {};
const queue = new Queue('tasks', { connection });
const worker = new Worker('tasks', run, { connection, concurrency: slots, autorun: false, ...limiter });

// BullMQ's documentation: a response 429 pauses the worker, and the attempt does not count.
async function run(job) {
  const { statusCode } = await call(job.data);
  if (statusCode === 429) {
    await worker.rateLimit(1000);
    throw Worker.RateLimitError();
  }
  if (statusCode !== 200) throw new Error(`HTTP ${statusCode}`);
}

async function respond(request) {
  let body = '';
  for await (const chunk of request) body += chunk;
  if (request.url === '/tasks') {
    const { tasks } = JSON.parse(body);
    await queue.addBulk(tasks.map(({ payload }) => ({ name: 'task', data: payload, opts: options })));
  } else if (request.url === '/start') {
    worker.run();
  }
}

await queue.waitUntilReady();
createServer(async (request, response) => {
  await respond(request);
  response.end();
}).listen(port, '127.0.0.1');
