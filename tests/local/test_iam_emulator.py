"""The patches to the emulator for IAM enforcement."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from local import iam_emulator
from local.decisions import Decision, Decisions


@pytest.mark.parametrize(
    ("request_", "keys"),
    [
        ({"Key": {"taskId": {"S": "#processor"}}}, ["#processor"]),
        ({"Item": {"taskId": {"S": "a"}, "taskStatus": {"S": "PENDING"}}}, ["a"]),
        ({"IndexName": "by-status", "KeyConditionExpression": "taskStatus = :s"}, []),
    ],
)
def test_leading_keys_are_those_of_the_requested_item(request_: dict, keys: list) -> None:
    assert iam_emulator.leading_keys(request_, "taskId") == keys


def test_a_decision_is_recorded_under_the_action_that_iam_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arn = "arn:aws:sts::000000000000:assumed-role/desk/function"
    callers = {"role": {"userArn": arn}, "root": {"userArn": "arn:aws:iam::000000000000:root"}}
    monkeypatch.setattr(
        iam_emulator, "iam_evaluator", SimpleNamespace(resolve_caller_identity=callers.get)
    )
    asked = []

    def enforce(_key: str, action: str, *_: object, **__: object) -> object:
        asked.append(action)
        return None if action == "sns:Publish" else "rejected"

    path = tmp_path / "decisions"
    path.touch()
    decisions = Decisions(path)
    recorded = iam_emulator._with_record(enforce, str(path))
    assert recorded("role", "sns:PublishBatch", "sns", "r", resource_arn="topic") is None
    assert recorded("role", "sqs:SendMessage", "sqs", "r", resource_arn="queue") == "rejected"
    assert recorded("root", "sns:Publish", "sns", "r", resource_arn="topic") is None
    assert asked == ["sns:Publish", "sqs:SendMessage", "sns:Publish"]
    assert decisions.since() == [
        Decision("desk", "function", "sns:Publish", "topic", True),
        Decision("desk", "function", "sqs:SendMessage", "queue", False),
    ]
    assert decisions.since() == []


def test_partially_written_decision_is_returned_by_the_next_read(tmp_path: Path) -> None:
    path = tmp_path / "decisions"
    line = json.dumps({"role": "r", "session": "s", "action": "a", "resource": "*", "allowed": True})
    path.write_text(line)
    decisions = Decisions(path, since_start=True)
    assert decisions.since() == []
    path.write_text(line + "\n")
    assert decisions.since() == [Decision("r", "s", "a", "*", True)]
