#!/usr/bin/env bash
# uvicorn's --limit-concurrency reads like a limit on the requests in progress, as the concurrency of a queue is. It
# also counts open connections. So the idle connections in a caller's pool use it up: with a limit of 5, the fifth
# connection gets 503 for its request, even if the server has no other request to run. The response has no Retry-After.
# A queue should expect this from a healthy endpoint, and the limit must exceed the number of pooled connections.
set -euo pipefail
work=$(mktemp -d)
server=
stop() {
  [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check --no-deps uvicorn==0.35.0 click==8.1.8 h11==0.16.0

cat >app.py <<'PY'
async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})
PY
cat >check.py <<'PY'
import http.client
import sys
import time

PORT = int(sys.argv[1])


def connect():
    for _ in range(100):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=5)
            connection.connect()
            return connection
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise SystemExit("uvicorn did not start")


def post(connection):
    connection.request("POST", "/", body="{}")
    response = connection.getresponse()
    response.read()
    return response.status, response.getheader("retry-after")


pool = [connect() for _ in range(4)]
responses = [post(connection) for connection in pool]
print(f"one request at a time on connections 1 to 4: {responses}")
fifth = connect()
rejected = post(fifth)
print(f"the same on connection 5, while the others are idle: {rejected}")
pool[0].close()
fifth.close()
time.sleep(0.5)
after = post(connect())
print(f"on a new connection, after connections 1 and 5 were closed: {after}")
sys.exit(0 if responses == [(200, None)] * 4 and rejected == (503, None) and after == (200, None) else 1)
PY
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
venv/bin/uvicorn app:app --host 127.0.0.1 --port "$port" --limit-concurrency 5 --log-level warning &
server=$!
echo "uvicorn $(venv/bin/python -c 'import uvicorn; print(uvicorn.__version__)') --limit-concurrency 5"
python3 check.py "$port"
