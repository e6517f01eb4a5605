#!/usr/bin/env python3
"""Posts the comment on a pull request, or replaces the existing one.

Uses only the standard library: a workflow with write access runs this file from the default branch or the base.

    post_comment.py own   --pull-request N --comment FILE      # the repository's own pull request
    post_comment.py fork  --run ID --head-sha SHA --head-repository OWNER/NAME

The fork's own code, which ran without rights, rendered a fork's comment and left it as an artifact. Nothing in it is
trusted. It must consist of two small files, and its number must be that of a pull request with the head of that run.
The text is posted under a line that names its origin.

Reads GITHUB_REPOSITORY, GITHUB_API_URL and GITHUB_TOKEN.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import sys
import urllib.error
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: The beginning of the rendered comment; infra/diff/comment.ts writes it.
MARKER = "<!-- freshq:diff -->"
#: GitHub's limit, in characters. This file and the renderer count bytes.
MOST_BYTES = 65_536
ARTIFACT = "diff-comment"
#: A comment compresses well, so a larger artifact is not a comment.
MOST_ARTIFACT_BYTES = 256 * 1024
NUMBER_FILE, COMMENT_FILE = "pull-request.txt", "comment.md"
_STRANGER = (
    "> This pull request comes from a fork. Its own code, without any rights, rendered the text below: "
    "read it as part of the pull request.\n\n"
)
#: The most pages of 100 comments or artifacts that are read.
_MOST_PAGES = 20
_SECONDS = 30


class Rejected(RuntimeError):
    """The comment must not or cannot be posted; the message says why."""


class _Redirect(urllib.request.HTTPRedirectHandler):
    """Removes the token from redirects: GitHub stores artifacts on another host, which must not get it."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):  # noqa: ANN001, ANN201, PLR0913
        followed = super().redirect_request(req, fp, code, msg, headers, newurl)
        if followed is not None:
            followed.remove_header("Authorization")
        return followed


@dataclass(frozen=True)
class GitHub:
    api: str
    repository: str
    token: str

    def get(self, path: str) -> Any:
        """The response of the API at `path` below the repository."""
        return json.loads(self._send("GET", self._url(path)) or b"null")

    def pages(self, path: str, key: str | None = None) -> list[Any]:
        """All elements of a list. If the list is inside an object, `key` is its name there."""
        elements: list[Any] = []
        for page in range(1, _MOST_PAGES + 1):
            response = self.get(f"{path}?per_page=100&page={page}")
            part = response[key] if key else response
            elements += part
            if len(part) < 100:
                return elements
        raise Rejected(f"{path} has more than {_MOST_PAGES * 100} elements")

    def write(self, method: str, path: str, body: dict[str, Any]) -> Any:
        return json.loads(self._send(method, self._url(path), json.dumps(body).encode()) or b"null")

    def download(self, path: str, most_bytes: int) -> bytes:
        """The content at `path`. Raises `Rejected` if it has more than `most_bytes` bytes."""
        return self._send("GET", self._url(path), most_bytes=most_bytes)

    def _url(self, path: str) -> str:
        return f"{self.api}/repos/{self.repository}/{path}"

    def _send(self, method: str, url: str, body: bytes | None = None, most_bytes: int | None = None) -> bytes:
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self.token}",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        request = urllib.request.Request(url, data=body, method=method, headers=headers)
        opener = urllib.request.build_opener(_Redirect())
        try:
            with opener.open(request, timeout=_SECONDS) as response:
                content = response.read(-1 if most_bytes is None else most_bytes + 1)
        except urllib.error.HTTPError as error:
            detail = error.read(500).decode(errors="replace")
            raise Rejected(f"{method} {url}: GitHub returned {error.code}: {detail}") from error
        except urllib.error.URLError as error:
            raise Rejected(f"{method} {url}: {error.reason}") from error
        if most_bytes is not None and len(content) > most_bytes:
            raise Rejected(f"{url} holds more than {most_bytes} bytes")
        return content


def post(github: GitHub, number: int, comment: str) -> str:
    """Replace the bot's comment with the marker on a pull request, or post a new one; returns what was done."""
    if len(comment.encode()) > MOST_BYTES:
        raise Rejected(f"the comment has {len(comment.encode())} bytes, but GitHub accepts {MOST_BYTES}")
    if MARKER not in comment:
        raise Rejected(f"the comment lacks its marker {MARKER}: it was not rendered by make diff-comment")
    ours = [
        each["id"]
        for each in github.pages(f"issues/{number}/comments")
        # Any user may write the marker. So only the comment of a bot is replaced.
        if MARKER in (each.get("body") or "") and each["user"]["type"] == "Bot"
    ]
    if ours:
        github.write("PATCH", f"issues/comments/{ours[0]}", {"body": comment})
        return f"updated the comment on #{number}"
    github.write("POST", f"issues/{number}/comments", {"body": comment})
    return f"commented on #{number}"


def fork_comment(github: GitHub, run: int, head_sha: str, head_repository: str) -> tuple[int, str]:
    """The pull request and the comment that a fork's run left as an artifact. Raises `Rejected`."""
    found = [
        artifact
        for artifact in github.pages(f"actions/runs/{run}/artifacts", "artifacts")
        if artifact["name"] == ARTIFACT and not artifact["expired"]
    ]
    if len(found) != 1:
        raise Rejected(f"run {run} has {len(found)} artifacts {ARTIFACT}, not one")
    size = found[0]["size_in_bytes"]
    if size > MOST_ARTIFACT_BYTES:
        raise Rejected(f"the artifact has {size} bytes, more than {MOST_ARTIFACT_BYTES}")
    packed = github.download(f"actions/artifacts/{found[0]['id']}/zip", MOST_ARTIFACT_BYTES)
    number_text, comment = unpack(packed)
    if not re.fullmatch(r"[1-9][0-9]{0,8}", number_text.strip()):
        raise Rejected("the artifact names no pull request")
    number = int(number_text)
    pull = github.get(f"pulls/{number}")
    head = pull["head"]
    if pull["state"] != "open" or head["sha"] != head_sha:
        raise Rejected(f"run {run} was for {head_sha}, which is not the head of #{number} now")
    if (head["repo"] or {}).get("full_name") != head_repository:
        raise Rejected(f"#{number} does not come from {head_repository}")
    return number, quoted(comment)


def unpack(packed: bytes) -> tuple[str, str]:
    """The two files of an artifact, in memory. Raises `Rejected` for any other content."""
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
            if sorted(sizes) != sorted((NUMBER_FILE, COMMENT_FILE)):
                raise Rejected(f"the artifact has unexpected files: {sorted(sizes)[:5]}")
            if sizes[NUMBER_FILE] > 20 or sizes[COMMENT_FILE] > MOST_BYTES:
                raise Rejected("the artifact's files are larger than they can be")
            # The archive may state wrong sizes, so reading has limits too.
            with archive.open(NUMBER_FILE) as number, archive.open(COMMENT_FILE) as comment:
                return number.read(20).decode(), comment.read(MOST_BYTES).decode()
    except (zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise Rejected(f"the artifact cannot be read: {error}") from error


def quoted(comment: str) -> str:
    """The comment of a fork as it is posted: under a line that says so, without mentions, and not too long."""
    if not comment.startswith(MARKER):
        raise Rejected(f"the comment does not begin with {MARKER}")
    # With a word joiner after the @, the name looks the same, but GitHub notifies no user.
    calm = comment[len(MARKER) :].lstrip().replace("@", "@\u2060")
    whole = f"{MARKER}\n{_STRANGER}{calm}"
    note = "\n\nThe rest did not fit.\n"
    if len(whole.encode()) <= MOST_BYTES:
        return whole
    return whole.encode()[: MOST_BYTES - len(note)].decode(errors="ignore") + note


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    parser = argparse.ArgumentParser(description="Posts the comment on a pull request.")
    commands = parser.add_subparsers(dest="command", required=True)
    own = commands.add_parser("own", help="post on the repository's own pull request")
    own.add_argument("--pull-request", type=int, required=True)
    own.add_argument("--comment", type=Path, required=True)
    fork = commands.add_parser("fork", help="post the comment that a fork's run left as an artifact")
    fork.add_argument("--run", type=int, required=True)
    fork.add_argument("--head-sha", required=True)
    fork.add_argument("--head-repository", required=True)
    given = parser.parse_args(arguments)
    try:
        github = GitHub(
            os.environ.get("GITHUB_API_URL", "https://api.github.com"),
            os.environ["GITHUB_REPOSITORY"],
            os.environ["GITHUB_TOKEN"],
        )
        if given.command == "own":
            number, comment = given.pull_request, given.comment.read_text()
        else:
            number, comment = fork_comment(github, given.run, given.head_sha, given.head_repository)
        print(post(github, number, comment))
    except KeyError as missing:
        print(f"{missing} is not set: GitHub Actions sets it", file=sys.stderr)
        return 2
    except (Rejected, OSError) as rejection:
        print(f"not posted: {rejection}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
