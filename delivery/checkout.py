"""Checks that a deployment is reproducible: built for Lambda from committed code."""

from __future__ import annotations

from pathlib import Path

from delivery.arm64 import elf
from delivery.assembly import Stack
from delivery.configured import gaps
from project.captured import captured
from project.paths import PROJECT

_PLACEHOLDER = PROJECT / "infra" / "shared" / "placeholder" / "bootstrap"


class NotDeployable(RuntimeError):
    """Raised if the stack must not be deployed. The message contains the reason and the remedy."""


def reject_uncommitted(project: Path) -> None:
    """Raises `NotDeployable` if the working tree differs from its commit or isn't a git checkout."""
    status = captured(["git", "status", "--porcelain"], cwd=project)
    if status.returncode != 0:
        raise NotDeployable(
            f"prod is deployed from a commit, and git says: {status.stderr.strip()}. Deploy from a clone"
        )
    changed = status.stdout.splitlines()
    if changed:
        shown = "\n".join(f"  {line}" for line in changed[:10])
        rest = f"\n  and {len(changed) - 10} more" if len(changed) > 10 else ""
        raise NotDeployable(
            "prod is deployed from a commit, but these files differ from it. Commit them, or stash them "
            f"(`git stash -u`):\n{shown}{rest}"
        )


def reject_gaps(stack: Stack) -> None:
    """Raises `NotDeployable` if the stack belongs to a protected environment and lacks a setting."""
    found = gaps(stack)
    if found:
        listed = "\n".join(f"  {gap.found}. Remedy: {gap.remedy}" for gap in found)
        raise NotDeployable(f"{stack.name} is not configured:\n{listed}")


def reject_placeholders(stack: Stack) -> None:
    """Raises `NotDeployable` if any of the stack's functions is the placeholder from a synthesis without code."""
    placeholder = _PLACEHOLDER.read_bytes()
    for folder in stack.code_folders():
        bootstrap = folder / "bootstrap"
        if bootstrap.exists() and bootstrap.read_bytes() == placeholder:
            raise NotDeployable(
                f"{stack.name} was synthesized with FRESHQ_SKIP_BUILD=1 and contains placeholders instead of code. "
                "Unset FRESHQ_SKIP_BUILD and deploy again"
            )


def reject_unbuilt(stack: Stack) -> None:
    """Raises `NotDeployable` if any of the stack's functions isn't a program for arm64 on Lambda."""
    for folder in stack.code_folders():
        try:
            problems = elf.read(folder / "bootstrap").problems()
        except elf.NotAnElf as error:
            problems = [str(error)]
        if problems:
            raise NotDeployable(
                f"{stack.name} carries code that Lambda cannot start: {'; '.join(problems)}. "
                "Deploy without FRESHQ_ARTIFACTS, so that `make build` builds it"
            )
