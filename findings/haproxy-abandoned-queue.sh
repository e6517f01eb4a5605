#!/usr/bin/env bash
# HAProxy queues requests that exceed a server's maxconn. A caller that times out closes its connection, so one would
# expect HAProxy to drop its queued request. By default it does not: each abandoned request still runs, one after another,
# and a retry waits behind them. A queue with a time-out shorter than
# HAProxy's queue therefore runs abandoned tasks instead of new ones, although its own concurrency is free again.
set -euo pipefail
work=$(mktemp -d)
pids=()
stop() {
  for pid in "${pids[@]}"; do
    { kill "$pid" && wait "$pid"; } 2>/dev/null || true
  done
  pids=()
}
trap 'stop; rm -rf "$work"' EXIT
cd "$work"
mkdir packages root && cd packages
# HAProxy as Debian ships it. The script needs its major version; Debian replaces the minor one in security updates.
apt-get download -qq haproxy liblua5.3-0 libopentracing-c-wrapper0 libopentracing1 2>/dev/null
for package in *.deb; do dpkg -x "$package" ../root; done
cd ..
haproxy=$(find "$work/root" -path '*/sbin/haproxy')
LD_LIBRARY_PATH=$(dirname "$(find "$work/root" -name 'liblua5.3.so.0')")
export LD_LIBRARY_PATH

cat >backend.py <<'PY'
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Run(BaseHTTPRequestHandler):
    def do_POST(self):
        with open(sys.argv[2], "a") as runs:
            runs.write(self.rfile.read(int(self.headers["Content-Length"])).decode() + "\n")
        time.sleep(2)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Run).serve_forever()
PY
cat >calls.py <<'PY'
import http.client
import socket
import sys
import threading
import time

PORT, BACKEND = map(int, sys.argv[1:])
for port in (BACKEND, PORT):
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except ConnectionRefusedError:
            time.sleep(0.1)


def call(name):
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=1)
    try:
        connection.request("POST", "/", body=name)
        connection.getresponse()
    except TimeoutError:
        pass
    finally:
        connection.close()


threads = [threading.Thread(target=call, args=(f"task-{n}",)) for n in range(5)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
time.sleep(11)
PY
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# observe OPTION: five callers with a time-out of 1 s, one connection to the server, runs of 2 s
observe() {
  local front back
  front=$(free_port) back=$(free_port)
  : >"runs-$2"
  python3 backend.py "$back" "runs-$2" 2>backend.log &
  pids+=($!)
  printf '%s\n' "global" "  maxconn 100" "defaults" "  mode http" "  timeout connect 5s" "  timeout client 30s" \
    "  timeout server 30s" "  timeout queue 30s" "$1" "listen runner" "  bind 127.0.0.1:$front" \
    "  server one 127.0.0.1:$back maxconn 1" >haproxy.cfg
  "$haproxy" -db -f haproxy.cfg 2>haproxy.log &
  pids+=($!)
  python3 calls.py "$front" "$back"
  stop
  wc -l <"runs-$2"
}
version=$("$haproxy" -v | sed -n 1p)
echo "$version"
default=$(observe "" default)
echo "runs after five callers gave up, by default: $default"
[[ $version == "HAProxy version 2."* ]] && [ "$default" = 5 ]
