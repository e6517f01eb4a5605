#!/usr/bin/env bash
# gunicorn's --timeout reads like a limit on the time of a request. It is one for sync workers only. The caller sees
# status 500, as after an exception in the task, not 504: a queue counts the attempt against this task. With threads
# (gthread) the same setting never ends a request, so a run can outlive every time-out of the queue. A change of --threads
# from 1 to 2 is enough to switch.
set -euo pipefail
work=$(mktemp -d)
server=
stop() {
  [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
  server=
}
trap 'stop; rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check gunicorn==23.0.0
cat >app.py <<'PY'
import time


def app(environ, start_response):
    time.sleep(5)
    start_response("200 OK", [("Content-Length", "0")])
    return [b""]
PY
cat >check.py <<'PY'
import http.client
import sys
import time

for _ in range(100):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
    try:
        connection.connect()
        break
    except ConnectionRefusedError:
        time.sleep(0.1)
try:
    connection.request("POST", "/", body="{}")
    print(connection.getresponse().status)
except (http.client.RemoteDisconnected, ConnectionResetError):
    print("connection closed")
PY
# observe OPTION...: a request of 5 s under --timeout 2
observe() {
  local port
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  venv/bin/gunicorn -b "127.0.0.1:$port" --timeout 2 --log-level critical "$@" app:app 2>>log &
  server=$!
  python3 check.py "$port" >seen
  stop
}
echo "gunicorn $(venv/bin/python -c 'import gunicorn; print(gunicorn.__version__)') --timeout 2, a request of 5 s"
observe --threads 1 && one=$(cat seen) && echo "--threads 1: $one"
observe --threads 2 && two=$(cat seen) && echo "--threads 2: $two"
[ "$one" = 500 ] && [ "$two" = 200 ]
