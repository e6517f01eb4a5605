// A bare client: one connection per slot, each of which makes its next call when the last one has ended.
import { caller } from './call.mjs';

const { downstream, slots, seconds } = JSON.parse(process.argv[2]);
const call = caller(downstream, slots, 30_000);
const end = Date.now() + seconds * 1000;
let n = 0;

async function slot() {
  while (Date.now() < end) await call({ n: n++, created: Date.now() });
}

await Promise.all(Array.from({ length: slots }, slot));
process.exit();
