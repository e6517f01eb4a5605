#!/usr/bin/env bash
# Starts DynamoDB Local on a free port of the loopback interface, runs a command with FRESHQ_DYNAMODB_LOCAL set to its
# address, and stops it.
#
#   tools/dynamodb-local/run.sh COMMAND...
set -euo pipefail
from=$PWD
here=$(cd "$(dirname "$0")" && pwd)
emulator=$here/node_modules/amplify-dynamodb-simulator/emulator

if ! command -v java >/dev/null; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless
fi

work=$(mktemp -d)
engine=
stop() {
  if [ -n "$engine" ]; then
    kill "$engine" 2>/dev/null || true
    wait "$engine" 2>/dev/null || true
  fi
  rm -rf "$work"
}
trap stop EXIT

cc -shared -fPIC -O1 -Wall -Wextra -Werror -o "$work/loopback.so" "$here/loopback.c"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
began=$SECONDS
# The engine writes a file into its working directory.
cd "$work"
LD_PRELOAD=$work/loopback.so java -Djava.net.preferIPv4Stack=true -Djava.library.path="$emulator/DynamoDBLocal_lib" \
  -jar "$emulator/DynamoDBLocal.jar" -inMemory -disableTelemetry -port "$port" >"$work/log" 2>&1 &
engine=$!
until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
  if ! kill -0 "$engine" 2>/dev/null || ((SECONDS - began > 60)); then
    echo "DynamoDB Local did not start:" >&2
    cat "$work/log" >&2
    exit 1
  fi
  sleep 0.2
done
sed -n 's/^Version:\s*/DynamoDB Local /p' "$work/log"
echo "listens on 127.0.0.1:$port after $((SECONDS - began)) s"

began=$SECONDS
cd "$from"
FRESHQ_DYNAMODB_LOCAL=127.0.0.1:$port "$@" || { status=$?; cat "$work/log" >&2; exit "$status"; }
echo "the command took $((SECONDS - began)) s"
