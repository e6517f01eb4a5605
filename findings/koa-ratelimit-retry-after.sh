#!/usr/bin/env bash
# koa-ratelimit sends Retry-After with status 429. One would expect a call after that delay to be accepted, as RFC 9110
# suggests. The value is rounded down: after exactly that delay the call is rejected once more, now with Retry-After: 0,
# which asks for an immediate call. A queue that trusts the value loses an attempt per limit, and then calls in a loop
# unless it has a lower bound for the delay.
set -euo pipefail
work=$(mktemp -d)
server=
stop() {
  [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts --save-exact koa@3.0.3 koa-ratelimit@6.0.0

cat >server.cjs <<'JS'
const Koa = require("koa");
const limit = require("koa-ratelimit");
const app = new Koa();
app.use(limit({ driver: "memory", db: new Map(), duration: 5_000, max: 1, id: () => "all" }));
app.use((context) => {
  context.body = "";
});
app.listen(Number(process.argv[2]), "127.0.0.1");
JS
cat >check.cjs <<'JS'
const url = `http://127.0.0.1:${process.argv[2]}/`;
const sleep = (seconds) => new Promise((done) => setTimeout(done, 1_000 * seconds));
async function call(text) {
  const response = await fetch(url, { method: "POST" });
  await response.text();
  const seen = `${response.status} retry-after ${response.headers.get("retry-after")}`;
  console.log(`${text}: ${seen}`);
  return seen;
}
async function main() {
  for (let n = 0; n < 100; n += 1) {
    if (await fetch(`${url}health`, { method: "HEAD", headers: { connection: "close" } }).then(() => true, () => false)) break;
    await sleep(0.1);
  }
  await sleep(6);
  await call("first call");
  const second = await call("second call, at once");
  const wait = Number(second.split(" ").at(-1));
  await sleep(wait);
  const third = await call(`third call, after ${wait} s`);
  await sleep(1);
  const fourth = await call("fourth call, a second later");
  process.exit(second === "429 retry-after 4" && third === "429 retry-after 0" && fourth.startsWith("200") ? 0 : 1);
}
main();
JS
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
node server.cjs "$port" &
server=$!
echo "koa-ratelimit $(node -p 'require("koa-ratelimit/package.json").version'), one call per 5 s"
node check.cjs "$port"
