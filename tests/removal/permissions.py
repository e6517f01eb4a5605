"""Lists the permissions of a deployed function's role, and removes some of them temporarily."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from local.stack import DeployedStack


@dataclass(frozen=True)
class Permission:
    """One action on one resource, as a role's policy allows it."""

    action: str
    resource: str


class Role:
    """The role of a deployed function, with the inline policy that CloudFormation wrote."""

    def __init__(self, stack: DeployedStack, function: str) -> None:
        configuration = stack.client("lambda").get_function_configuration(
            FunctionName=stack.function(function)
        )
        self._iam = stack.client("iam")
        self.name: str = configuration["Role"].rsplit("/", 1)[-1]
        (self._policy,) = self._iam.list_role_policies(RoleName=self.name)["PolicyNames"]
        found = self._iam.get_role_policy(RoleName=self.name, PolicyName=self._policy)
        document = found["PolicyDocument"]
        self._document = json.loads(document) if isinstance(document, str) else document
        self._single = [
            (Permission(action, resource), statement)
            for statement in self._document["Statement"]
            for action in _listed(statement["Action"])
            for resource in _listed(statement["Resource"])
        ]

    @property
    def permissions(self) -> list[Permission]:
        """Every action on every resource, in the order of the policy."""
        return [permission for permission, _ in self._single]

    @contextmanager
    def without(self, *removed: Permission) -> Iterator[None]:
        left = [
            {**statement, "Action": permission.action, "Resource": permission.resource}
            for permission, statement in self._single
            if permission not in removed
        ]
        self._put({**self._document, "Statement": left})
        try:
            yield
        finally:
            self._put(self._document)

    @contextmanager
    def with_more(self, *more: Permission) -> Iterator[None]:
        added = [
            {"Effect": "Allow", "Action": permission.action, "Resource": permission.resource}
            for permission in more
        ]
        self._put({**self._document, "Statement": [*self._document["Statement"], *added]})
        try:
            yield
        finally:
            self._put(self._document)

    def delete(self) -> None:
        self._iam.delete_role_policy(RoleName=self.name, PolicyName=self._policy)

    def restore(self) -> None:
        """Restores the role's original policy."""
        self._put(self._document)

    def _put(self, document: dict[str, Any]) -> None:
        self._iam.put_role_policy(
            RoleName=self.name, PolicyName=self._policy, PolicyDocument=json.dumps(document)
        )


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value
