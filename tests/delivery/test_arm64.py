"""The checks of a binary, its start with the Runtime API, and the checks of its responses."""

from __future__ import annotations

import json
import platform
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from delivery.arm64 import elf, starting, verify
from delivery.arm64.elf import Binary, NotAnElf
from delivery.arm64.starting import CannotStart
from project.paths import PROJECT
from tests.delivery.makefiles import MAKEFILES

ARM = Binary("EM_AARCH64", (2, 34), frozenset({"libc.so.6", "libgcc_s.so.1"}))


class TestBinary:
    def test_a_binary_that_can_start_has_no_problems(self) -> None:
        assert ARM.problems() == []
        assert Binary("EM_AARCH64", None, frozenset()).problems() == []

    @pytest.mark.parametrize(
        ("binary", "says"),
        [
            (Binary("EM_X86_64", (2, 17), frozenset({"ld-linux-x86-64.so.2"})), "it is for X86_64"),
            (Binary("EM_AARCH64", (2, 35), frozenset()), "glibc 2.35, and Lambda has 2.34"),
            (Binary("EM_AARCH64", (2, 17), frozenset({"libssl.so.3", "libc.so.6"})), "it loads libssl.so.3,"),
        ],
    )
    def test_a_binary_that_cannot_start_has_a_problem(self, binary: Binary, says: str) -> None:
        [problem] = binary.problems()
        assert says in problem

    @pytest.mark.skipif(sys.platform != "linux", reason="this machine's programs are not ELF files")
    def test_headers_of_a_program_for_this_machine_are_read(self) -> None:
        read = elf.read(Path(sys.executable).resolve())
        assert read.machine == {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}[platform.machine()]
        assert read.glibc is not None and (2, 2) <= read.glibc < (3, 0)
        assert "libc.so.6" in read.libraries

    def test_the_errors_of_a_placeholder_and_of_a_missing_file_differ(self, tmp_path: Path) -> None:
        with pytest.raises(NotAnElf, match="placeholder"):
            elf.read(PROJECT / "infra" / "shared" / "placeholder" / "bootstrap")
        with pytest.raises(NotAnElf, match="is missing: run `make build`"):
            elf.read(tmp_path / "bootstrap")


#: Source of a Python function whose behavior its event specifies.
FUNCTION = """
    import json, os, sys, urllib.request
    api = "http://" + os.environ["AWS_LAMBDA_RUNTIME_API"] + "/2018-06-01/runtime"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    def post(path, body):
        opener.open(urllib.request.Request(api + path, json.dumps(body).encode(), method="POST"))
    if os.environ.get("BREAKS") == "start":
        post("/init/error", {"errorMessage": "no table"})
    while True:
        with opener.open(api + "/invocation/next") as request:
            event = json.load(request)
            invocation = request.headers["Lambda-Runtime-Aws-Request-Id"]
            left = int(request.headers["Lambda-Runtime-Deadline-Ms"])
        if event == "die":
            print("out of luck")
            sys.exit(3)
        path = "/error" if event == "fail" else "/response"
        known = sorted(name for name in os.environ if name in ("HOME", "TABLE", "AWS_LAMBDA_FUNCTION_NAME"))
        post(f"/invocation/{invocation}{path}", {"event": event, "known": known, "left": left})
"""


@pytest.fixture
def bootstrap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(starting, "emulator", lambda: [sys.executable])
    script = tmp_path / "bootstrap"
    script.write_text(textwrap.dedent(FUNCTION))
    return script


class TestStarting:
    def test_function_gets_only_its_own_variables_and_those_of_lambda(self, bootstrap: Path) -> None:
        run = starting.run("trigger", bootstrap, {"a": 1}, {"TABLE": "tasks"})
        assert run.result.kind == "response"
        assert run.result.body["event"] == {"a": 1}
        assert run.result.body["known"] == ["AWS_LAMBDA_FUNCTION_NAME", "TABLE"]
        assert run.result.body["left"] > 0
        assert 0 < run.cold_start < 30

    def test_function_error_and_initialization_error_are_distinguished(self, bootstrap: Path) -> None:
        assert starting.run("trigger", bootstrap, "fail", {}).result.kind == "error"
        assert starting.run("trigger", bootstrap, {}, {"BREAKS": "start"}).result.kind == "init/error"

    def test_error_for_an_exited_function_contains_its_output(self, bootstrap: Path) -> None:
        with pytest.raises(CannotStart, match=r"exit code 3\):\nout of luck"):
            starting.run("trigger", bootstrap, "die", {})


def functions() -> list[str]:
    listed = re.search(r"^FUNCTIONS := (.*)$", MAKEFILES, re.MULTILINE)
    assert listed is not None
    return listed[1].split()


class TestVerification:
    @pytest.mark.parametrize("function", functions())
    def test_every_function_has_an_event_and_a_check_of_its_response(self, function: str) -> None:
        event = verify._EVENTS / verify._EVENT_FILES.get(function, f"{function}.json")
        assert isinstance(json.loads(event.read_text()), dict)
        assert not verify.CHECKS[function]({"created": [], "duplicates": [], "failed": []})

    @pytest.mark.parametrize(
        ("function", "response"),
        [
            ("create-tasks", {"created": [1, 2], "duplicates": [3], "failed": []}),
            ("trigger", "busy"),
            ("process-tasks", {"taken": 2, "succeeded": 1, "failed": 1, "store_errors": 0, "exit": "empty"}),
            ("count-shed", {"batchItemFailures": [{"itemIdentifier": "1"}]}),
            ("sweep-agents", None),
        ],
    )
    def test_a_wrong_response_fails_the_check(self, function: str, response: Any) -> None:
        assert not verify.CHECKS[function](response)

    def test_a_function_without_a_check_is_rejected(self, tmp_path: Path) -> None:
        with pytest.raises(verify.WrongResponse, match="CHECKS has no expected response for new-one"):
            verify.verify(["new-one"], tmp_path, tmp_path, print)

    def test_a_binary_for_another_machine_is_rejected_before_any_starts(self, tmp_path: Path) -> None:
        (tmp_path / "trigger").mkdir()
        (tmp_path / "trigger" / "bootstrap").write_text("#!/bin/sh")
        with pytest.raises(NotAnElf):
            verify.verify(["trigger"], tmp_path, tmp_path, print)

    def test_a_zip_over_the_budget_is_rejected(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "bootstrap").write_bytes(b"x" * 1000)
        assert verify.zipped("trigger", tmp_path / "bootstrap") < 1000
        monkeypatch.setattr(verify, "ZIP_BUDGET", 10)
        with pytest.raises(verify.WrongResponse, match="over the budget of 10"):
            verify.zipped("trigger", tmp_path / "bootstrap")

    def test_the_sizes_of_built_functions_are_listed(self, tmp_path: Path) -> None:
        [line] = verify.sizes(tmp_path)
        assert "not built for AWS" in line
        (tmp_path / "trigger").mkdir()
        (tmp_path / "trigger" / "bootstrap").write_bytes(b"x" * 1000)
        assert verify.sizes(tmp_path) == ["  trigger        zip 0.0 MiB of 6"]
