// The downstream of a scene: responds to each call after its run, and records the calls. GET / lists them; PUT / with
// `true` or `false` starts and ends an outage.
import { createServer } from 'node:http';

const { port, run, rate, faults } = JSON.parse(process.argv[2]);
const calls = [];
const attempts = new Map();
const recent = [];
let isDown = false;

// The same task gets the same lengths and faults in the same order, whichever queue calls.
function drawn(seed) {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function isOverRate(now) {
  while (recent.length > 0 && recent[0] <= now - 1000) recent.shift();
  if (!rate || recent.length < rate) {
    recent.push(now);
    return false;
  }
  return true;
}

function fault(chance) {
  let left = chance;
  for (const [name, share] of Object.entries(faults ?? {})) {
    left -= share;
    if (left < 0) return name;
  }
  return null;
}

function work({ n, created }, request, response) {
  const now = Date.now();
  const attempt = attempts.get(n) ?? 0;
  attempts.set(n, attempt + 1);
  const next = drawn(n * 16 + attempt);
  const length = run * (0.5 + next());
  const entry = { n, age: now - created, start: performance.now(), end: null, status: null };
  calls.push(entry);
  const end = (status, headers = {}) => {
    entry.end = performance.now();
    entry.status = status;
    response.writeHead(status, headers).end();
  };
  if (isDown) return end(503);
  if (isOverRate(now)) return end(429);
  switch (fault(next())) {
    case 'hang':
      return;
    case 'reset':
      return request.socket.destroy();
    case 'error':
      return end(500);
    case 'busy':
      return end(503, { 'Retry-After': '2' });
    default:
      setTimeout(end, length, 200);
  }
}

createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  if (request.method === 'GET') return response.end(JSON.stringify(calls));
  if (request.method === 'PUT') {
    isDown = JSON.parse(body);
    return response.end();
  }
  work(JSON.parse(body).payload, request, response);
}).listen(port, '127.0.0.1');
