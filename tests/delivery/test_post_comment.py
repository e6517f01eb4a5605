"""The comment on a pull request, with a fake GitHub on the loopback interface."""

from __future__ import annotations

import io
import json
import re
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from delivery import post_comment
from delivery.post_comment import MARKER, MOST_BYTES, GitHub, Rejected

REPOSITORY = "octo/freshq"
HEAD = "a" * 40


@dataclass
class FakeGitHub:
    """The content of the fake GitHub, and the requests that it got."""

    comments: list[dict[str, Any]] = field(default_factory=list)
    artifacts: list[dict[str, Any]] = field(default_factory=list)
    pull: dict[str, Any] = field(default_factory=dict)
    packed: bytes = b""
    writes: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    #: The Authorization header at the API, and at the host of the artifact.
    authorizations: dict[str, str | None] = field(default_factory=dict)
    url: str = ""

    def respond(self, path: str) -> Any:
        page = int((re.search(r"[?&]page=(\d+)", path) or [0, 1])[1])
        start, end = (page - 1) * 100, page * 100
        if "/comments" in path:
            return self.comments[start:end]
        if path.endswith("/artifacts") or "/artifacts?" in path:
            return {"artifacts": self.artifacts[start:end]}
        assert f"/repos/{REPOSITORY}/pulls/" in path
        return self.pull


def handler_of(fake: FakeGitHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/elsewhere":
                fake.authorizations["elsewhere"] = self.headers.get("Authorization")
                return self.reply(200, fake.packed)
            fake.authorizations["api"] = self.headers.get("Authorization")
            if self.path.endswith("/zip"):
                self.send_response(302)
                self.send_header("Location", f"{fake.url}/elsewhere")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            return self.reply(200, json.dumps(fake.respond(self.path)).encode())

        def write(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            fake.writes.append((self.command, self.path, body))
            self.reply(200, b"{}")

        do_POST = do_PATCH = write

        def reply(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Print nothing: a failed test says more than the log of requests."""

    return Handler


@pytest.fixture
def fake() -> Iterator[FakeGitHub]:
    known = FakeGitHub(pull=pull(), artifacts=[artifact()], packed=packed())
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_of(known))
    known.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield known
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def github(fake: FakeGitHub) -> GitHub:
    return GitHub(fake.url, REPOSITORY, "token")


def comment_by(kind: str, number: int, body: str = MARKER) -> dict[str, Any]:
    return {"id": number, "body": body, "user": {"type": kind}}


def artifact(**changes: Any) -> dict[str, Any]:
    return {"id": 9, "name": "diff-comment", "expired": False, "size_in_bytes": 900} | changes


def pull(**head: Any) -> dict[str, Any]:
    return {"state": "open", "head": {"sha": HEAD, "repo": {"full_name": "fork/freshq"}} | head}


def packed(**files: str) -> bytes:
    content = {"pull-request.txt": "7\n", "comment.md": f"{MARKER}\n## Stacks"}
    content |= {name.replace("__", "-").replace("_dot_", "."): text for name, text in files.items()}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packing:
        for name, text in content.items():
            packing.writestr(name, text)
    return archive.getvalue()


def take(github: GitHub) -> tuple[int, str]:
    return post_comment.fork_comment(github, 5, HEAD, "fork/freshq")


class TestPosting:
    def test_the_first_comment_is_posted(self, fake: FakeGitHub, github: GitHub) -> None:
        fake.comments = [comment_by("User", 1, "LGTM"), comment_by("Bot", 2, "other bot")]
        assert post_comment.post(github, 7, f"{MARKER}\nx") == "commented on #7"
        assert fake.writes == [
            ("POST", f"/repos/{REPOSITORY}/issues/7/comments", {"body": f"{MARKER}\nx"})
        ]

    def test_a_later_comment_replaces_the_first_even_on_a_later_page(
        self, fake: FakeGitHub, github: GitHub
    ) -> None:
        fake.comments = [comment_by("User", n, "x") for n in range(130)] + [comment_by("Bot", 500)]
        assert post_comment.post(github, 7, f"{MARKER}\ny") == "updated the comment on #7"
        [(method, path, _)] = fake.writes
        assert (method, path) == ("PATCH", f"/repos/{REPOSITORY}/issues/comments/500")

    def test_the_comment_of_a_person_with_the_marker_is_not_replaced(
        self, fake: FakeGitHub, github: GitHub
    ) -> None:
        fake.comments = [comment_by("User", 1)]
        assert post_comment.post(github, 7, f"{MARKER}\ny") == "commented on #7"

    @pytest.mark.parametrize("text", ["no marker", MARKER + "x" * MOST_BYTES])
    def test_a_text_without_the_marker_or_over_the_limit_is_not_posted(
        self, fake: FakeGitHub, github: GitHub, text: str
    ) -> None:
        with pytest.raises(Rejected):
            post_comment.post(github, 7, text)
        assert fake.writes == []

    def test_the_command_posts_a_file(
        self, fake: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "c.md").write_text(f"{MARKER}\nfine")
        arguments = ["own", "--pull-request", "3", "--comment", str(tmp_path / "c.md")]
        monkeypatch.delenv("GITHUB_TOKEN", raising=False)
        monkeypatch.setenv("GITHUB_API_URL", fake.url)
        monkeypatch.setenv("GITHUB_REPOSITORY", REPOSITORY)
        assert post_comment.main(arguments) == 2
        monkeypatch.setenv("GITHUB_TOKEN", "token")
        assert post_comment.main(arguments) == 0
        assert [path for _, path, _ in fake.writes] == [f"/repos/{REPOSITORY}/issues/3/comments"]


class TestFork:
    def test_a_comment_of_a_fork_starts_with_a_line_that_names_its_origin(
        self, fake: FakeGitHub, github: GitHub
    ) -> None:
        fake.packed = packed(comment_dot_md=f"{MARKER}\nhello @octo/admins")
        number, comment = take(github)
        assert number == 7
        assert comment.startswith(f"{MARKER}\n> This pull request comes from a fork.")
        assert "@octo" not in comment and "octo/admins" in comment

    def test_the_host_of_the_artifact_does_not_get_the_token(
        self, fake: FakeGitHub, github: GitHub
    ) -> None:
        take(github)
        assert fake.authorizations == {"api": "Bearer token", "elsewhere": None}

    @pytest.mark.parametrize(
        "number", ["", "0", "-1", "7; rm -rf /", "١", "7\n8", "1" * 12, "../../x", "1e3"]
    )
    def test_an_invalid_number_is_rejected(
        self, fake: FakeGitHub, github: GitHub, number: str
    ) -> None:
        fake.packed = packed(pull__request_dot_txt=number)
        with pytest.raises(Rejected):
            take(github)

    @pytest.mark.parametrize(
        "pull_request",
        [
            pull(sha="b" * 40),
            pull(repo={"full_name": "other/freshq"}),
            pull(repo=None),
            pull() | {"state": "closed"},
        ],
        ids=["another head", "another fork", "a fork that is gone", "closed"],
    )
    def test_a_pull_request_other_than_that_of_the_run_is_rejected(
        self, fake: FakeGitHub, github: GitHub, pull_request: dict[str, Any]
    ) -> None:
        fake.pull = pull_request
        with pytest.raises(Rejected):
            take(github)

    @pytest.mark.parametrize(
        "artifacts",
        [
            [],
            [artifact(), artifact(id=10)],
            [artifact(expired=True)],
            [artifact(size_in_bytes=10**7)],
        ],
        ids=["none", "two", "expired", "too large"],
    )
    def test_only_a_single_small_artifact_is_accepted(
        self, fake: FakeGitHub, github: GitHub, artifacts: list[dict[str, Any]]
    ) -> None:
        fake.artifacts = artifacts
        with pytest.raises(Rejected):
            take(github)

    @pytest.mark.parametrize(
        "content",
        [
            b"no zip",
            packed(evil_dot_sh="#!/bin/sh"),
            packed(comment_dot_md="x" * (MOST_BYTES + 1)),
            packed(comment_dot_md="no marker"),
            b"x" * (post_comment.MOST_ARTIFACT_BYTES + 1),
        ],
        ids=["no archive", "a third file", "a comment too large", "no marker", "larger than it said"],
    )
    def test_any_other_content_is_rejected(
        self, fake: FakeGitHub, github: GitHub, content: bytes
    ) -> None:
        fake.packed = content
        with pytest.raises(Rejected):
            take(github)

    def test_a_comment_too_long_with_its_origin_line_is_truncated(self) -> None:
        cut = post_comment.quoted(MARKER + "é" * ((MOST_BYTES - len(MARKER)) // 2))
        assert len(cut.encode()) <= MOST_BYTES
        assert cut.endswith("The rest did not fit.\n")


def test_the_renderer_writes_the_same_marker() -> None:
    renderer = Path(post_comment.__file__).parent.parent / "infra" / "diff" / "comment.ts"
    assert f"'{MARKER}'" in renderer.read_text()
