#!/usr/bin/env bash
# Uses jsii to check that every CDK language supports the API of the constructs: every type is exported, and none is a
# mapped, conditional or union type. The package is published for TypeScript; the check keeps other languages possible.
# jsii requires its own package and TypeScript 6.
set -euo pipefail
cd "$(dirname "$0")/../.."

tree=target/package/jsii
rm -rf "$tree"
mkdir -p "$tree"
cp -r infra "$tree/src"
# Removes the sources that the package does not contain: this repository's app, its stacks and its tools.
rm -r "$tree"/src/{app.ts,ci,diff,environments,stacks}
ln -s "$PWD/node_modules" "$tree/node_modules"
cp tools/package/README.md "$tree/"
cat > "$tree/package.json" <<'JSON'
{
  "name": "freshq",
  "version": "0.1.0",
  "license": "Apache-2.0",
  "description": "Newest-first task queues on AWS",
  "author": { "name": "freshq" },
  "repository": { "type": "git", "url": "https://example.com/freshq.git" },
  "main": "src/index.js",
  "types": "src/index.d.ts",
  "jsii": { "outdir": "dist", "targets": {} },
  "peerDependencies": { "aws-cdk-lib": "^2.186.0", "constructs": "^10.0.0" },
  "devDependencies": { "aws-cdk-lib": "2.186.0", "constructs": "10.0.0" }
}
JSON
cd "$tree"
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1 JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION=1
../../../tools/package/node_modules/.bin/jsii --silence-warnings=reserved-word
