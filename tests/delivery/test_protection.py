"""GitHub environments that other branches may use are rejected, if GitHub responds."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from delivery import protection
from delivery.__main__ import main
from delivery.protection import Unprotected

PROTECTED = {"deployment_branch_policy": {"protected_branches": True, "custom_branch_policies": False}}
CUSTOM = {"deployment_branch_policy": {"protected_branches": False, "custom_branch_policies": True}}
OPEN = {"deployment_branch_policy": None}


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """GitHub's responses, by the path below the repository; 404 for any other path."""
    responses: dict[str, Any] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.split("?")[0].removeprefix("/repos/octo/freshq/")
            status = 200 if path in responses else 404
            status = 403 if responses.get(path) == "forbidden" else status
            body = json.dumps(responses.get(path, {"message": "Not Found"})).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("GITHUB_API_URL", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("GITHUB_TOKEN", "token")
    yield responses
    server.shutdown()
    thread.join()
    server.server_close()


def check(*environments: str, repository: str = "octo/freshq") -> list[str]:
    said: list[str] = []
    protection.check(repository, "main", environments, said.append)
    return said


def rules(*branches: str) -> dict[str, Any]:
    return {"branch_policies": [{"name": branch} for branch in branches]}


def test_environments_for_main_or_for_protected_branches_are_accepted(github: dict[str, Any]) -> None:
    github["environments/staging"] = PROTECTED
    github["environments/prod"] = CUSTOM
    github["environments/prod/deployment-branch-policies"] = rules("main")
    assert check("staging", "prod") == []
    # The name in the form of GitHub's tokens.
    assert check("staging", repository="octo@12/freshq@345") == []


def test_every_unprotected_environment_is_named_with_the_remedy(github: dict[str, Any]) -> None:
    github["environments/staging"] = OPEN
    github["environments/prod"] = CUSTOM
    github["environments/prod/deployment-branch-policies"] = rules("main", "release/*")
    with pytest.raises(Unprotected) as rejected:
        check("staging", "prod", "third")
    text = str(rejected.value)
    assert "the GitHub environment staging may be used by every branch" in text
    assert "the GitHub environment prod may be used by release/* too" in text
    assert "the GitHub environment third was not found" in text
    assert "Remedy: in Settings > Environments" in text


def test_an_environment_that_cannot_be_read_is_named_and_is_not_rejected(github: dict[str, Any]) -> None:
    github["environments/prod"] = "forbidden"
    [said] = check("prod")
    assert said.startswith("not checked: whether only main may use the environment prod: ")


def test_without_a_token_the_missing_check_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_TOKEN", "GH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    [said] = check("prod")
    assert said.startswith("not checked: whether octo/freshq lets only main use its environments.")
    assert "gh auth login" in said


def test_the_command_fails_if_an_environment_is_unprotected(github: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    github["environments/prod"] = OPEN
    assert main(["protection", "--repository", "octo/freshq", "--environments", "prod"]) == 1
    assert "may be used by every branch" in capsys.readouterr().err
