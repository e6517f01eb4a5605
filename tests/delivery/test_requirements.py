"""pip installs exactly the pinned packages and verifies their checksums."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from project.paths import PROJECT
from tests.delivery.makefiles import MAKEFILES

FILES = sorted(PROJECT.glob("requirements*.txt"))
PIN = re.compile(r"(?P<name>[a-z0-9][a-z0-9.-]*)==(?P<version>[^ ;]+)(?P<marker> ; .+)?")


def packages(path: Path) -> dict[str, list[str]]:
    """The packages pinned in a file, each with its checksums."""
    found: dict[str, list[str]] = {}
    for entry in path.read_text().replace("\\\n", " ").splitlines():
        if not entry.startswith("#"):
            pin, *options = re.split(r"\s+(?=--)", entry.strip())
            found[pin] = options
    return found


def test_requirements_files_are_the_expected_ones() -> None:
    assert [path.name for path in FILES] == [
        "requirements-arm64.txt",
        "requirements-aws.txt",
        "requirements-lint.txt",
        "requirements-rie.txt",
        "requirements.txt",
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_package_is_pinned_with_its_checksums(path: Path) -> None:
    assert packages(path)
    for pin, options in packages(path).items():
        assert PIN.fullmatch(pin), pin
        assert options, f"{pin} has no checksum"
        for option in options:
            assert re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", option), option


def test_a_package_has_the_same_checksums_in_every_set() -> None:
    seen: dict[str, set[tuple[str, ...]]] = {}
    for path in FILES:
        for pin, options in packages(path).items():
            seen.setdefault(pin, set()).add(tuple(options))
    assert {pin for pin, checksums in seen.items() if len(checksums) > 1} == set()


def test_privileged_jobs_install_only_the_aws_and_elf_libraries() -> None:
    names = {PIN.fullmatch(pin)["name"] for pin in packages(PROJECT / "requirements-aws.txt")}  # type: ignore[index]
    assert names == {
        "boto3",
        "botocore",
        "jmespath",
        "pyelftools",
        "python-dateutil",
        "s3transfer",
        "six",
        "urllib3",
    }


def test_make_demo_installs_no_compiler_for_arm64() -> None:
    assert "ziglang" not in (PROJECT / "requirements.txt").read_text()


def test_pip_does_not_resolve_or_build_packages() -> None:
    installs = re.findall(r"^.*-m pip install.*$", MAKEFILES, re.MULTILINE)
    assert len(installs) == 1
    assert "--require-hashes --no-deps --only-binary :all:" in installs[0]


def test_advisories_are_read_for_every_language_and_every_dependency() -> None:
    advisories = MAKEFILES.split("\nadvisories:")[1].split("\n\n")[0]
    assert "cargo deny check advisories" in advisories
    assert "npm audit" in advisories
    # With --strict, a package that can't be looked up is also a failure.
    assert "pip-audit --strict --require-hashes" in advisories
    assert 'unmaintained = "all"' in (PROJECT / "deny.toml").read_text()
