"""An HTTP endpoint on this machine that exists while a block runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: Receives the body and headers of a request and returns the status and headers of the response.
Respond = Callable[[bytes, Message], tuple[int, dict[str, str]]]


@contextmanager
def http_endpoint(respond: Respond) -> Iterator[str]:
    """Yields the URL of an endpoint on a free port of 127.0.0.1. Each request has its own thread."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body are separate writes. With Nagle's algorithm, the body waits until the headers are acknowledged.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, headers = respond(body, self.headers)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Prints nothing, because the terminal is reserved for the caller's output."""

    with _Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, name="http-endpoint")
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/tasks"
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    # A client that keeps its connection open must not delay the exit of this process.
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
