"""The templates of the stacks that are deployed, for a comparison that needs no further access."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from delivery.assembly import Stack
from local import account

#: Makes a CloudFormation client of a region; `None` is the one of the credentials in use.
ClientOf = Callable[[str | None], Any]


class FetchFailed(RuntimeError):
    """A template could not be read; the message says which, and why."""


def cloudformation(region: str | None) -> Any:
    """A CloudFormation client of the account that is signed in to."""
    return account.session().client("cloudformation", region_name=region)


def fetch(stacks: Iterable[Stack], into: Path, client_of: ClientOf = cloudformation) -> list[str]:
    """Write `<stack>.template.json` into `into` for each stack that is deployed; returns their names.

    What an earlier run wrote there is removed first: a stack that is gone must not be compared with.
    """
    into.mkdir(parents=True, exist_ok=True)
    for stale in into.glob("*.template.json"):
        stale.unlink()
    found = []
    for stack in stacks:
        template = _template(client_of(stack.region), stack.name)
        if template is None:
            continue
        (into / f"{stack.name}.template.json").write_text(json.dumps(template, indent=1))
        found.append(stack.name)
    return found


def _template(client: Any, name: str) -> dict[str, Any] | None:
    try:
        body = client.get_template(StackName=name, TemplateStage="Original")["TemplateBody"]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise FetchFailed(f"the template of {name} cannot be read: {error}") from error
    except BotoCoreError as error:
        raise FetchFailed(f"the template of {name} cannot be read: {error}") from error
    # boto3 parses a template that is JSON, and gives any other as it is.
    template = json.loads(body) if isinstance(body, str) else body
    return dict(template)
