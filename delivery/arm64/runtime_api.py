"""Lambda's Runtime API for one function, on the loopback interface.

https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html: a function requests the next invocation and posts the
response under the invocation's id.
"""

from __future__ import annotations

import json
import queue
import sys
import threading
import time
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

_PREFIX = "/2018-06-01/runtime"
_REQUEST_ID = "8476a536-e9f4-11e8-9739-2dfe598c3fcd"


@dataclass(frozen=True)
class Result:
    """The result of an event: a response (`response`), a failure (`error`) or an initialization error (`init/error`)."""

    kind: str
    body: Any


class _Server(ThreadingHTTPServer):
    """A server that ignores connections that close because its function stopped."""

    # Doesn't block the exit, because a request for the next invocation can wait until the function exits.
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Prints the error, unless the connection closed because the function exited."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class RuntimeApi:
    """Serves one function. Use `with RuntimeApi(name, seconds) as api`, then `api.invoke(event)`."""

    def __init__(self, function: str, deadline_seconds: float) -> None:
        self._function = function
        self._deadline_seconds = deadline_seconds
        self._events: queue.Queue[Any] = queue.Queue()
        self._results: queue.Queue[Result] = queue.Queue()
        self._stopped = threading.Event()
        #: Set when the function requests its first invocation, which ends the cold start.
        self.ready = threading.Event()
        self._server = _Server(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def address(self) -> str:
        """The value of `AWS_LAMBDA_RUNTIME_API`: host and port."""
        return f"127.0.0.1:{self._server.server_port}"

    def invoke(self, event: Any) -> None:
        """Passes this event to the function when it next requests one."""
        self._events.put(event)

    def result(self, seconds: float) -> Result | None:
        """The function's result; `None` if there is none within `seconds`."""
        try:
            return self._results.get(timeout=seconds)
        except queue.Empty:
            return None

    def __enter__(self) -> RuntimeApi:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()

    def _next_event(self) -> Any | None:
        """Waits for the next event and returns it; `None` if this API has been stopped."""
        while not self._stopped.is_set():
            try:
                return self._events.get(timeout=0.1)
            except queue.Empty:
                continue
        return None

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if self.path != f"{_PREFIX}/invocation/next":
                    return self._reply(404, b"{}")
                api.ready.set()
                event = api._next_event()
                if event is None:
                    self.close_connection = True
                    return None
                deadline = int((time.time() + api._deadline_seconds) * 1000)
                return self._reply(
                    200,
                    json.dumps(event).encode(),
                    {
                        "Lambda-Runtime-Aws-Request-Id": _REQUEST_ID,
                        "Lambda-Runtime-Deadline-Ms": str(deadline),
                        "Lambda-Runtime-Invoked-Function-Arn": (
                            f"arn:aws:lambda:us-east-1:000000000000:function:{api._function}"
                        ),
                        "Lambda-Runtime-Trace-Id": "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Sampled=0",
                    },
                )

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                kinds = {
                    f"{_PREFIX}/invocation/{_REQUEST_ID}/response": "response",
                    f"{_PREFIX}/invocation/{_REQUEST_ID}/error": "error",
                    f"{_PREFIX}/init/error": "init/error",
                }
                if self.path not in kinds:
                    return self._reply(404, b"{}")
                api._results.put(Result(kinds[self.path], _parsed(body)))
                return self._reply(202, b"{}")

            def _reply(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
                """Prints nothing, because only the function's output matters."""

        return Handler


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode(errors="replace")
