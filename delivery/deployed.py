"""Fetches the templates of deployed stacks, so that a comparison doesn't require access to AWS."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from delivery import account
from delivery.assembly import Stack

#: Creates a CloudFormation client for a region; `None` means the current region.
ClientOf = Callable[[str | None], Any]


class FetchFailed(RuntimeError):
    """Raised if a template can't be read. The message names the template and the reason."""


def cloudformation(region: str | None) -> Any:
    return account.session().client("cloudformation", region_name=region)


def fetch(stacks: Iterable[Stack], into: Path, client_of: ClientOf = cloudformation) -> list[str]:
    """Writes `<stack>.template.json` to `into` for each deployed stack and returns the stack names.

    First removes templates from an earlier run, so that deleted stacks aren't compared.
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
    # boto3 returns a JSON template as an object, and any other template as text.
    template = json.loads(body) if isinstance(body, str) else body
    return dict(template)
