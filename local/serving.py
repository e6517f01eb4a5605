"""The emulator's process: ``python -m local.serving``.

ministack answers every ``Origin``, ignores ``Host``, and runs whatever code it is sent. So any web page
could run code on this machine: its script needs no answer, only a request that arrives. This module
rejects requests that a browser sends, before ministack sees them:

- ``Origin`` comes with every request of a script to another origin and with every POST and WebSocket;
- ``Sec-Fetch-Site`` comes with the rest: images, scripts, frames, links, typed addresses;
- a foreign ``Host`` comes with the page of a site whose name was made to resolve to 127.0.0.1 (DNS
  rebinding). Such a page is of the same origin, so it may send neither of the two.

No client of this project is a browser. AWS SDKs, the AWS CLI, the CDK CLI and the functions send
neither header, and name the host as ``AWS_ENDPOINT_URL`` does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from ministack import app
from ministack.core import lambda_runtime

from local import alarms, iam_emulator, saved_queries

_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:\d{1,5})?", re.IGNORECASE)
_BROWSER_HEADERS = ("origin", "sec-fetch-site")

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def rejection(headers: Iterable[tuple[str, str]]) -> str | None:
    """Why a request with these headers is rejected, with the remedy; None where it is not."""
    found = [(name.lower(), value) for name, value in headers]
    for name in _BROWSER_HEADERS:
        if any(name == given for given, _ in found):
            return (
                f"the local AWS rejects requests of web pages, and this one has the header {name}."
                " Use an AWS SDK or the AWS CLI, not a browser."
            )
    hosts = [value for name, value in found if name == "host"]
    if len(hosts) != 1 or not _HOST.fullmatch(hosts[0]):
        return (
            f"the local AWS rejects requests to the host {', '.join(hosts) or '(none)'}."
            " Address it as AWS_ENDPOINT_URL in .local/env does, by 127.0.0.1."
        )
    return None


def without_web_pages(application: Application) -> Application:
    """`application`, which then gets no request of a web page and no WebSocket of one."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await application(scope, receive, send)
        headers = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
        reason = rejection(headers)
        if reason is None:
            return await application(scope, receive, send)
        if scope["type"] == "websocket":
            await receive()
            return await send({"type": "websocket.close", "code": 1008, "reason": reason})
        plain = [(b"content-type", b"text/plain; charset=utf-8")]
        await send({"type": "http.response.start", "status": 403, "headers": plain})
        await send({"type": "http.response.body", "body": f"{reason}\n".encode()})

    return guarded


def _runtime_api_without_web_pages(build: Callable[..., type]) -> Callable[..., type]:
    """The handler of the functions' runtime API, which listens on ports of its own, guarded alike."""

    def built(*arguments: Any) -> type:
        class Guarded(build(*arguments)):  # type: ignore[misc]
            def parse_request(self) -> bool:
                if not super().parse_request():
                    return False
                reason = rejection(self.headers.items())
                if reason is not None:
                    self.send_error(403, explain=reason)
                return reason is None

        return Guarded

    return built


def main() -> None:
    """Be the emulator until it is stopped."""
    alarms.install()
    saved_queries.install()
    if decisions := os.environ.get("FRESHQ_IAM_DECISIONS"):
        iam_emulator.install(decisions)
    app.app = without_web_pages(app.app)
    worker = lambda_runtime.ProvidedWorker
    worker._build_handler_class = _runtime_api_without_web_pages(worker._build_handler_class)
    app.main()


if __name__ == "__main__":
    main()
