"""flexiq behind HTTP, as ``freshq dev`` is: POST /tasks enqueues jobs, POST /start starts the worker."""

import json
import sys
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from flexiq import Queue

GIVEN = json.loads(sys.argv[1])
RATE = {"rate_limit": f"{GIVEN['rate']}/s"} if GIVEN["rate"] else {}

# With its defaults, it claims one job per dispatch round and polls every 50 ms.
queue = Queue(
    db_path=GIVEN["database"], workers=GIVEN["slots"], scheduler_batch_size=GIVEN["slots"], scheduler_poll_interval_ms=5
)
queue.set_queue_dispatch_order("default", "lifo")
started = threading.Event()
own = threading.local()


@queue.task(max_retries=4, **RATE)
def run(payload: dict[str, Any]) -> None:
    """One run; the connection of a thread stays open."""
    if getattr(own, "connection", None) is None:
        own.connection = HTTPConnection(urlsplit(GIVEN["downstream"]).netloc, timeout=GIVEN["timeout"] / 1000)
    try:
        own.connection.request("POST", "/", json.dumps({"payload": payload}))
        response = own.connection.getresponse()
        response.read()
    except Exception:
        own.connection.close()
        own.connection = None
        raise
    if response.status != 200:
        raise RuntimeError(f"HTTP {response.status}")


class Front(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.path == "/tasks":
            for task in json.loads(body)["tasks"]:
                run.delay(task["payload"])
        elif self.path == "/start":
            started.set()
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *_: object) -> None:
        pass


threading.Thread(target=ThreadingHTTPServer(("127.0.0.1", GIVEN["port"]), Front).serve_forever, daemon=True).start()
started.wait()
queue.run_worker()
