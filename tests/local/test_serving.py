"""A web page in the developer's browser can't use the local AWS."""

from __future__ import annotations

import base64
import http.client
import io
import json
import os
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from local import deployment, emulator
from local.emulator import Emulator
from local.serving import rejection

#: The headers that a browser adds to a page's `fetch(url, {method: "POST", mode: "no-cors", body: text})`.
FROM_A_PAGE = {
    "Origin": "https://page.example",
    "Sec-Fetch-Site": "cross-site",
    "Sec-Fetch-Mode": "no-cors",
    "Content-Type": "text/plain;charset=UTF-8",
}
#: The headers that a browser adds to a request for an image on the page.
FROM_AN_IMAGE = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}


@pytest.fixture(scope="module")
def local_aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with emulator.start(tmp_path_factory.mktemp("local-aws")) as running:
        yield running


def ask(
    address: str, method: str, path: str, headers: dict[str, str], body: str = ""
) -> tuple[int, str, dict[str, str]]:
    """Sends only these headers, `Host` and `Content-Length`, and returns the response's status, text and headers."""
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        connection.request(method, path, body.encode() if body else None, headers)
        response = connection.getresponse()
        return response.status, response.read().decode(), {k.lower(): v for k, v in response.getheaders()}
    finally:
        connection.close()


def packed(program: str) -> bytes:
    """A function's zip archive with the program as its bootstrap."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        entry = zipfile.ZipInfo("bootstrap")
        entry.external_attr = 0o755 << 16
        opened.writestr(entry, program)
    return archive.getvalue()


def description(name: str, code: str | bytes) -> dict[str, Any]:
    return {
        "FunctionName": name,
        "Runtime": "provided.al2023",
        "Handler": "bootstrap",
        "Role": "arn:aws:iam::000000000000:role/any",
        "Timeout": 10,
        "Code": {"ZipFile": code},
    }


def attack(local_aws: Emulator, name: str, headers: dict[str, str], proof: Path) -> list[int]:
    """Creates and invokes a function that writes a file on this machine, and returns both status codes."""
    program = f"#!{sys.executable}\nopen({str(proof)!r}, 'w').close()\n"
    function = description(name, base64.b64encode(packed(program)).decode())
    address, path = urlsplit(local_aws.endpoint).netloc, "/2015-03-31/functions"
    created, _, _ = ask(address, "POST", path, headers, json.dumps(function))
    invoked, _, _ = ask(address, "POST", f"{path}/{name}/invocations", headers, "{}")
    return [created, invoked]


def test_a_page_cannot_create_and_invoke_a_function(local_aws: Emulator, tmp_path: Path) -> None:
    proof = tmp_path / "ran"
    assert attack(local_aws, "by-a-page", FROM_A_PAGE, proof) == [403, 403]
    functions = deployment.fake_session().client("lambda", endpoint_url=local_aws.endpoint)
    assert functions.list_functions()["Functions"] == []
    assert not proof.exists()

    # The same requests without browser headers succeed, so only the headers prevented the attack.
    created, _ = attack(local_aws, "by-a-client", {"Content-Type": "text/plain"}, proof)
    assert created == 201
    assert proof.exists()
    functions.delete_function(FunctionName="by-a-client")


@pytest.mark.parametrize(
    "headers",
    [
        FROM_A_PAGE,
        {"Origin": "null"},
        {"origin": "http://127.0.0.1:8000"},
        FROM_AN_IMAGE,
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Host": "page.example"},
        {"Host": "page.example:{port}"},
        {"Host": "127.0.0.1.page.example:{port}"},
        {"Host": "localhost.page.example"},
        {"Host": "bucket.localhost:{port}"},
        {"Host": "[::1]:{port}"},
        {"Host": ""},
    ],
    ids=str,
)
def test_browser_requests_are_rejected(local_aws: Emulator, headers: dict[str, str]) -> None:
    address = urlsplit(local_aws.endpoint)
    sent = {name: value.format(port=address.port) for name, value in headers.items()}
    for method, path in (("GET", "/_ministack/health"), ("POST", "/"), ("OPTIONS", "/")):
        status, text, returned = ask(address.netloc, method, path, sent)
        assert status == 403, (method, path)
        assert "the local AWS rejects" in text
        assert not any(name.startswith("access-control-") for name in returned)


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST"])
def test_clients_on_this_machine_are_served(local_aws: Emulator, host: str) -> None:
    address = urlsplit(local_aws.endpoint)
    headers = {"Host": host.format(port=address.port)}
    status, _, _ = ask(address.netloc, "GET", "/_ministack/health", headers)
    assert status == 200


def test_a_page_cannot_open_a_websocket(local_aws: Emulator) -> None:
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
        "Origin": "https://page.example",
    }
    address = urlsplit(local_aws.endpoint).netloc
    status, _, _ = ask(address, "GET", "/_aws/execute-api/any/stage", upgrade)
    assert status == 403


def test_request_must_name_exactly_one_host() -> None:
    assert rejection([("Host", "127.0.0.1:4566")]) is None
    assert "(none)" in (rejection([]) or "")
    assert "page.example" in (rejection([("host", "localhost"), ("host", "page.example")]) or "")


#: A function that waits for its next event and writes the address of its runtime API to a file.
_WAITING = """#!{python}
import os, pathlib, urllib.request
api = os.environ["AWS_LAMBDA_RUNTIME_API"]
pathlib.Path({file!r}).write_text(api)
base = f"http://{{api}}/2018-06-01/runtime/invocation/"
while True:
    with urllib.request.urlopen(base + "next") as event:
        request_id, body = event.headers["Lambda-Runtime-Aws-Request-Id"], event.read()
    urllib.request.urlopen(base + request_id + "/response", body).close()
"""


def test_a_page_cannot_take_the_event_of_a_function(local_aws: Emulator, tmp_path: Path) -> None:
    file = tmp_path / "runtime-api"
    program = _WAITING.format(python=sys.executable, file=str(file))
    functions = deployment.fake_session().client("lambda", endpoint_url=local_aws.endpoint)
    functions.create_function(**description("waiting", packed(program)))
    response = functions.invoke(FunctionName="waiting", Payload=b'{"first": 1}')
    assert json.loads(response["Payload"].read()) == {"first": 1}
    runtime_api = file.read_text()
    for headers in (FROM_AN_IMAGE, {"Host": "page.example"}):
        status, _, _ = ask(runtime_api, "GET", "/2018-06-01/runtime/invocation/next", headers)
        assert status == 403
    functions.delete_function(FunctionName="waiting")
