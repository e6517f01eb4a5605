"""The removal of permissions counts as noticed only for the right reason, and every removal is undone."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from local.decisions import Decision, Decisions
from tests.removal.permissions import Permission, Role
from tests.removal.probe import Probe, Unmet
from tests.removal.removal import BrokenProbe, Verdict, examine
from tests.removal.unproven import reason_for

DOCUMENT: dict[str, Any] = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": "sns:Publish", "Resource": ["one", "two"]},
        {
            "Effect": "Allow",
            "Action": ["dynamodb:GetItem", "dynamodb:PutItem"],
            "Resource": "table",
            "Condition": {"Null": {"dynamodb:LeadingKeys": "false"}},
        },
    ],
}
PUBLISH_TWO = Permission("sns:Publish", "two")
GET = Permission("dynamodb:GetItem", "table")
PUT = Permission("dynamodb:PutItem", "table")


@dataclass
class Account:
    """A fake of a deployed function and of IAM, for the removal of permissions."""

    decided: Path
    policy: dict[str, Any] = field(default_factory=lambda: DOCUMENT)
    variables: dict[str, str] = field(default_factory=lambda: {"TABLE": "t"})

    def client(self, _service: str) -> Account:
        return self

    def function(self, name: str) -> str:
        return f"deployed-{name}"

    def get_function_configuration(self, **_: str) -> dict[str, str]:
        return {"Role": "arn:aws:iam::000000000000:role/desk"}

    def list_role_policies(self, **_: str) -> dict[str, list[str]]:
        return {"PolicyNames": ["inline"]}

    def get_role_policy(self, **_: str) -> dict[str, Any]:
        return {"PolicyDocument": self.policy}

    def put_role_policy(self, *, PolicyDocument: str, **_: str) -> None:
        self.policy = json.loads(PolicyDocument)

    def environment(self, _function: str) -> dict[str, str]:
        return dict(self.variables)

    def replace_environment(self, _function: str, variables: dict[str, str]) -> None:
        self.variables = dict(variables)

    def ask(self, action: str, resource: str) -> bool:
        """Uses the role for an action and returns whether the action was allowed."""
        allowed = any(
            action in _listed(statement["Action"]) and resource in _listed(statement["Resource"])
            for statement in self.policy["Statement"]
        )
        decision = Decision("desk", "function", action, resource, allowed)
        with self.decided.open("a") as file:
            file.write(json.dumps(asdict(decision)) + "\n")
        return allowed


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


@pytest.fixture
def account(tmp_path: Path) -> Account:
    path = tmp_path / "decisions"
    path.touch()
    return Account(path)


def verdicts(account: Account, *probes: Probe) -> list[Verdict]:
    return list(examine(account, Decisions(account.decided), probes))  # type: ignore[arg-type]


def test_a_role_without_a_permission_has_all_others_with_their_conditions(account: Account) -> None:
    role = Role(account, "desk")  # type: ignore[arg-type]
    assert role.permissions == [Permission("sns:Publish", "one"), PUBLISH_TWO, GET, PUT]
    with role.without(PUBLISH_TWO, GET):
        assert account.policy["Statement"] == [
            {"Effect": "Allow", "Action": "sns:Publish", "Resource": "one"},
            {**DOCUMENT["Statement"][1], "Action": "dynamodb:PutItem", "Resource": "table"},
        ]
    assert account.policy == DOCUMENT


def test_a_permission_that_a_probe_needs_is_noticed_and_one_that_no_probe_uses_is_not(account: Account) -> None:
    seen = []

    def run() -> None:
        seen.append(account.variables)
        if not account.ask("dynamodb:GetItem", "table"):
            raise Unmet("no item")
        account.ask("sns:Publish", "two")  # The probe does not check the result.

    found = verdicts(account, Probe("desk", "reads", run, {"MODE": "brief"}))
    by = {verdict.permission: verdict.probe for verdict in found}
    assert by == {GET: "reads", PUBLISH_TWO: None, Permission("sns:Publish", "one"): None, PUT: None}
    assert seen == [{"TABLE": "t", "MODE": "brief"}] * 3
    assert account.variables == {"TABLE": "t"}
    assert account.policy == DOCUMENT


def test_a_later_probe_may_notice_a_permission_that_an_earlier_one_missed(account: Account) -> None:
    def careless() -> None:
        account.ask("dynamodb:GetItem", "table")

    def careful() -> None:
        if not account.ask("dynamodb:GetItem", "table"):
            raise Unmet("no item")

    probes = Probe("desk", "glances", careless), Probe("desk", "reads", careful)
    found = {verdict.permission: verdict.probe for verdict in verdicts(account, *probes)}
    assert found[GET] == "reads"


def test_a_probe_that_fails_with_every_permission_proves_nothing(account: Account) -> None:
    def run() -> None:
        raise Unmet("the table is gone")

    with pytest.raises(BrokenProbe, match="fails with every permission: the table is gone"):
        verdicts(account, Probe("desk", "reads", run))


def test_a_probe_that_is_denied_more_than_the_removed_permission_proves_nothing(account: Account) -> None:
    def run() -> None:
        if account.ask("dynamodb:GetItem", "table") and account.ask("dynamodb:PutItem", "table"):
            return
        account.ask("dynamodb:DeleteItem", "table")
        raise Unmet("no item")

    with pytest.raises(BrokenProbe, match="DeleteItem"):
        verdicts(account, Probe("desk", "reads", run))
    assert account.policy == DOCUMENT


def test_only_permissions_that_aws_itself_uses_may_be_unproven() -> None:
    assert reason_for(Permission("logs:PutLogEvents", "arn"), "desk/logs") is not None
    assert reason_for(Permission("sqs:SendMessage", "arn"), "desk/failures") is not None
    assert reason_for(Permission("sqs:SendMessage", "arn"), "ingest/dead-letters") is None
    assert reason_for(Permission("dynamodb:GetItem", "arn"), "agent-table") is None
