#!/usr/bin/env bash
# @nestjs/throttler sends Retry-After with status 429. An application that has two limits must name them, for example
# "burst" and "day". One would expect Retry-After still. The header of a named limit has another name instead,
# Retry-After-burst, which no client knows. So an endpoint that gets a second limit stops telling its callers when to call
# again, and a queue falls back to its own backoff.
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
npm install --silent --no-audit --no-fund --ignore-scripts --save-exact @nestjs/common@11.1.9 @nestjs/core@11.1.9 @nestjs/platform-express@11.1.9 @nestjs/throttler@6.4.0 reflect-metadata@0.2.2 rxjs@7.8.2

cat >check.cjs <<'JS'
require("reflect-metadata");
const { Controller, Module, Post } = require("@nestjs/common");
const { APP_GUARD, NestFactory } = require("@nestjs/core");
const { ThrottlerGuard, ThrottlerModule } = require("@nestjs/throttler");

async function observe(text, limits) {
  class Runner {
    run() {
      return "";
    }
  }
  Post()(Runner.prototype, "run", Object.getOwnPropertyDescriptor(Runner.prototype, "run"));
  Controller()(Runner);
  class App {}
  Module({
    imports: [ThrottlerModule.forRoot(limits)],
    controllers: [Runner],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  })(App);
  const app = await NestFactory.create(App, { logger: false });
  await app.listen(0, "127.0.0.1");
  const url = `http://127.0.0.1:${app.getHttpServer().address().port}/`;
  const call = async () => {
    const response = await fetch(url, { method: "POST", headers: { connection: "close" } });
    await response.text();
    return response;
  };
  await call();
  const response = await call();
  const names = [...response.headers.keys()].filter((name) => name.startsWith("retry-after"));
  console.log(`${text}: ${response.status}, headers ${names.join(", ")}`);
  await app.close();
  return `${response.status} ${names}`;
}

async function main() {
  const one = await observe("one limit without a name", [{ ttl: 60_000, limit: 1 }]);
  const two = await observe("two limits with names", [
    { name: "burst", ttl: 60_000, limit: 1 },
    { name: "day", ttl: 86_400_000, limit: 1_000 },
  ]);
  process.exit(one === "429 retry-after" && two === "429 retry-after-burst" ? 0 : 1);
}
main();
JS
echo "@nestjs/throttler $(node -p 'require("@nestjs/throttler/package.json").version')"
node check.cjs
