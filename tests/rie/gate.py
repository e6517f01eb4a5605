"""A proxy in front of the local AWS that passes, rejects or never answers requests."""

from __future__ import annotations

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Literal
from urllib.parse import urlsplit

Mode = Literal["pass", "reject", "hang"]
_SECONDS = 30


class Gate:
    """Forwards requests to `endpoint` while `mode` is "pass". Use `with Gate(endpoint) as gate`."""

    def __init__(self, endpoint: str) -> None:
        self.mode: Mode = "pass"
        self._closed = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler(urlsplit(endpoint).netloc))
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Gate:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(self, behind: str) -> type[BaseHTTPRequestHandler]:
        gate = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if gate.mode == "hang":
                    gate._closed.wait(_SECONDS)
                    self.close_connection = True
                elif gate.mode == "reject":
                    rejected = b'{"__type": "com.amazonaws#AccessDeniedException", "message": "rejected by the test"}'
                    self._reply(400, "application/x-amz-json-1.0", rejected)
                else:
                    self._forward(body)

            def _forward(self, body: bytes) -> None:
                connection = http.client.HTTPConnection(behind, timeout=_SECONDS)
                try:
                    connection.request("POST", self.path, body, dict(self.headers))
                    response = connection.getresponse()
                    self._reply(response.status, response.getheader("Content-Type", ""), response.read())
                finally:
                    connection.close()

            def _reply(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
                """Prints nothing."""

        return Handler
