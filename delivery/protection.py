"""Checks that GitHub lets only one branch use the environments to which the roles are bound.

A role that deploys trusts GitHub's token for an environment. Without a rule, a workflow of any branch may use the
environment.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterable
from urllib.parse import quote

from delivery.post_comment import GitHub, Rejected


class Unprotected(RuntimeError):
    """Other branches may use an environment; the message names it and the remedy."""


def check(repository: str, branch: str, environments: Iterable[str], say: Callable[[str], None]) -> None:
    """Raise `Unprotected` if GitHub says that another branch than `branch` may use an environment.

    Without a token, or if GitHub does not respond, print what was not checked.
    """
    # GitHub's tokens may name a repository with numbers: octo-org@1234/freshq@5678.
    name = re.sub(r"@\d+", "", repository)
    token = _token()
    if token is None:
        say(
            f"not checked: whether {name} lets only {branch} use its environments. Sign in with `gh auth login`, or set"
            " GITHUB_TOKEN; or look at Settings > Environments > Deployment branches and tags"
        )
        return
    github = GitHub(os.environ.get("GITHUB_API_URL", "https://api.github.com"), name, token)
    problems = []
    for environment in environments:
        try:
            problem = _problem(github, branch, environment)
        except Rejected as error:
            if _is_absent(error):
                problem = "was not found: the first run that names it creates it without any rule (or the token may not read it)"
            else:
                say(f"not checked: whether only {branch} may use the environment {environment}: {error}")
                continue
        if problem is not None:
            problems.append(f"the GitHub environment {environment} {problem}")
    if problems:
        raise Unprotected(
            f"{name}: {'; '.join(problems)}. Remedy: in Settings > Environments, allow only the branch {branch} under"
            " Deployment branches and tags; UNPROTECTED=1 creates the roles without this check"
        )


def _problem(github: GitHub, branch: str, environment: str) -> str | None:
    path = f"environments/{quote(environment, safe='')}"
    policy = github.get(path).get("deployment_branch_policy")
    if policy is None:
        return "may be used by every branch"
    if not policy["custom_branch_policies"]:
        return None  # Protected branches only.
    rules = github.pages(f"{path}/deployment-branch-policies", "branch_policies")
    others = sorted({rule["name"] for rule in rules} - {branch})
    return f"may be used by {', '.join(others)} too" if others else None


def _is_absent(error: Rejected) -> bool:
    return "GitHub returned 404" in str(error)


def _token() -> str | None:
    for name in ("GITHUB_TOKEN", "GH_TOKEN"):
        if os.environ.get(name):
            return os.environ[name]
    try:
        finished = subprocess.run(["gh", "auth", "token"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return finished.stdout.strip() or None
