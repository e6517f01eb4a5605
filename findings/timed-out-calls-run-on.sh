#!/usr/bin/env bash
# A caller stops waiting at its time-out, and starts the task again somewhere else. One would expect the server to stop the
# first run, because it can see that the connection is closed. Eight Python servers let the handler run to its
# end, and with one worker they even start requests that were queued when their callers left. So "the task timed out" says
# nothing about whether it ran, and a retry can run beside the first run. The tasks must be idempotent.
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
venv/bin/pip install --quiet --disable-pip-version-check aiohttp==3.14.5 granian==2.8.9 gunicorn==23.0.0 \
  hypercorn==0.18.0 starlette==1.10.0 tornado==6.6.1 uvicorn==0.35.0 waitress==3.0.2

cat >asgi.py <<'PY'
import asyncio
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route


async def run(request):
    name = (await request.body()).decode()
    open(f"started-{name}", "w").close()
    await asyncio.sleep(3)
    open(f"ended-{name}", "w").close()
    return PlainTextResponse("done")


app = Starlette(routes=[Route("/", run, methods=["POST"])])
PY
cat >wsgi.py <<'PY'
import time


def app(environ, start_response):
    name = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode()
    open(f"started-{name}", "w").close()
    time.sleep(3)
    open(f"ended-{name}", "w").close()
    start_response("200 OK", [("Content-Length", "0")])
    return [b""]
PY
cat >aio.py <<'PY'
import asyncio
import sys
from aiohttp import web


async def run(request):
    name = await request.text()
    open(f"started-{name}", "w").close()
    await asyncio.sleep(3)
    open(f"ended-{name}", "w").close()
    return web.Response()


app = web.Application()
app.router.add_post("/", run)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None)
PY
cat >torn.py <<'PY'
import asyncio
import sys
import tornado.web


class Run(tornado.web.RequestHandler):
    async def post(self):
        name = self.request.body.decode()
        open(f"started-{name}", "w").close()
        await asyncio.sleep(3)
        open(f"ended-{name}", "w").close()


async def main():
    tornado.web.Application([("/", Run)]).listen(int(sys.argv[1]), "127.0.0.1")
    await asyncio.Event().wait()


asyncio.run(main())
PY
cat >calls.py <<'PY'
import http.client
import socket
import sys
import threading
import time

PORT, SERVER = int(sys.argv[1]), sys.argv[2]
for _ in range(150):
    try:
        socket.create_connection(("127.0.0.1", PORT)).close()
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


threads = [threading.Thread(target=call, args=(f"{SERVER}-{n}",)) for n in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
PY

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
failed=0
# observe NAME VERSION EXPECTED COMMAND...: three concurrent calls with a time-out of 1 s, to a handler of 3 s
observe() {
  local name=$1 version=$2 expected=$3 seen
  shift 3
  "${@//PORT/$port}" >"log-$name" 2>&1 &
  server=$!
  python3 calls.py "$port" "$name"
  sleep 11
  stop
  seen="$(find . -name "started-$name-*" | wc -l) started, $(find . -name "ended-$name-*" | wc -l) ended"
  printf '%-18s %-8s %s\n' "$name" "$version" "$seen"
  [ "$seen" = "$expected" ] || failed=1
}
version() { venv/bin/python -c "from importlib.metadata import version; print(version('$1'))"; }
all="3 started, 3 ended"
echo "three callers that gave up after 1 s, a handler of 3 s, 10 s later:"
port=$(free_port) && observe gunicorn-sync "$(version gunicorn)" "$all" venv/bin/gunicorn -b 127.0.0.1:PORT wsgi:app
port=$(free_port) && observe gunicorn-gthread "$(version gunicorn)" "$all" venv/bin/gunicorn -k gthread --threads 1 -b 127.0.0.1:PORT wsgi:app
port=$(free_port) && observe waitress "$(version waitress)" "$all" venv/bin/waitress-serve --host 127.0.0.1 --port PORT --threads 1 wsgi:app
port=$(free_port) && observe uvicorn "$(version uvicorn)" "$all" venv/bin/uvicorn --host 127.0.0.1 --port PORT asgi:app
port=$(free_port) && observe aiohttp "$(version aiohttp)" "$all" venv/bin/python aio.py PORT
port=$(free_port) && observe tornado "$(version tornado)" "$all" venv/bin/python torn.py PORT
port=$(free_port) && observe hypercorn "$(version hypercorn)" "$all" venv/bin/hypercorn -b 127.0.0.1:PORT asgi:app
port=$(free_port) && observe granian "$(version granian)" "$all" venv/bin/granian --host 127.0.0.1 --port PORT --interface asgi asgi:app
exit "$failed"
