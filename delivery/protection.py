"""Checks that only one branch can deploy to the GitHub environments that the IAM roles trust.

A deployment role trusts GitHub's token for an environment. Without a deployment branch rule, a workflow on any branch
can use the environment.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote

from project.captured import captured


class Unprotected(RuntimeError):
    """Raised if GitHub's rules let another branch, or a user without a review, deploy or publish. The message has the remedy."""


class Unread(RuntimeError):
    """Raised if `gh` fails to read from the GitHub API. The message is the one from `gh`."""


def check(repository: str, branch: str, environments: Iterable[str], say: Callable[[str], None]) -> None:
    """Raises `Unprotected` if GitHub reports that a branch other than `branch` can use an environment.

    If `gh` is missing, isn't signed in, or gets no response, prints what was not checked.
    """
    # GitHub's tokens can identify a repository with numbers: octo-org@1234/freshq@5678.
    name = re.sub(r"@\d+", "", repository)
    problems = []
    for environment in environments:
        try:
            problem = _problem(f"repos/{name}/environments/{quote(environment, safe='')}", branch)
        except Unread as error:
            if "HTTP 404" in str(error):
                problem = "was not found: the first run that names it creates it without any rule (or the token may not read it)"
            else:
                say(
                    f"not checked: whether {name} lets only {branch} use the environment {environment}: {error}."
                    " Look at Settings > Environments > Deployment branches and tags"
                )
                continue
        if problem is not None:
            problems.append(f"the GitHub environment {environment} {problem}")
    if problems:
        raise Unprotected(
            f"{name}: {'; '.join(problems)}. Remedy: in Settings > Environments, allow only the branch {branch} under"
            " Deployment branches and tags; UNPROTECTED=1 creates the roles without this check"
        )


def _problem(path: str, branch: str) -> str | None:
    policy = get(path).get("deployment_branch_policy")
    if policy is None:
        return "can be used from every branch"
    if not policy["custom_branch_policies"]:
        return None  # Only protected branches can use it.
    # GitHub returns up to 30 rules per page. The first page is enough, because more than one rule is already a problem.
    rules = get(f"{path}/deployment-branch-policies")["branch_policies"]
    others = sorted({rule["name"] for rule in rules} - {branch})
    return f"can be used from {', '.join(others)} too" if others else None


def get(path: str) -> Any:
    """The GitHub API response, requested with the token of `gh auth login` or `GITHUB_TOKEN`."""
    try:
        ran = captured(["gh", "api", path])
    except FileNotFoundError as error:
        raise Unread("gh is not installed") from error
    if ran.returncode != 0:
        raise Unread(ran.stderr.strip())
    return json.loads(ran.stdout)
