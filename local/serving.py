"""The emulator's program: ``python -m local.serving``.

ministack accepts every ``Origin``, ignores ``Host`` and runs any code that it receives. If it were started directly,
any web page in a browser could run code on this machine: the page only has to send a request, and doesn't need the
response. This module uses the following headers to reject browser requests before ministack receives them:

- ``Origin``: in each script request to another origin, and in each POST and WebSocket request;
- ``Sec-Fetch-Site``: in all other requests: images, scripts, frames, links and typed URLs;
- a foreign ``Host``: in requests from a page whose host name resolves to 127.0.0.1 (DNS rebinding). Such a page has the
  same origin, so its requests can lack the two other headers.

No client in this project is a browser. AWS SDKs, the AWS CLI, the CDK CLI and the functions send neither ``Origin`` nor
``Sec-Fetch-Site``, and their ``Host`` is the one in ``AWS_ENDPOINT_URL``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from ministack import app
from ministack.core import lambda_runtime
from ministack.services import scheduler

from local import alarms, asynchronous, cloud_control, iam_emulator, saved_queries, throttling

_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:\d{1,5})?", re.IGNORECASE)
_BROWSER_HEADERS = ("origin", "sec-fetch-site")

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def rejection(headers: Iterable[tuple[str, str]]) -> str | None:
    """The reason for rejecting a request with these headers, and the remedy; None if the request is accepted."""
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
    """Wraps `application` so that it rejects requests and WebSockets from web pages."""

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
    """Wraps `build` so that the functions' runtime API, which has its own ports, also rejects web pages."""

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
    alarms.install()
    saved_queries.install()
    cloud_control.install()
    asynchronous.install()
    throttling.install()
    if os.environ.get("FRESHQ_SCHEDULES") == "off":
        scheduler.start_scheduler = lambda: None
    if decisions := os.environ.get("FRESHQ_IAM_DECISIONS"):
        iam_emulator.install(decisions)
    app.app = without_web_pages(app.app)  # type: ignore[assignment]
    worker = lambda_runtime.ProvidedWorker
    worker._build_handler_class = _runtime_api_without_web_pages(worker._build_handler_class)  # type: ignore[method-assign]
    app.main()


if __name__ == "__main__":
    main()
