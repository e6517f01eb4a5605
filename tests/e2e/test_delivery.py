"""Reads the template for a pull request and the alarms for a deployment from a deployed stack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from delivery import deployed as templates
from delivery import rollback
from delivery.assembly import stacks
from local.assembly import Assembly
from local.queue import DeployedQueue


def test_template_read_from_aws_matches_the_synthesized_template(
    deployed: DeployedQueue, template: Assembly, tmp_path: Path
) -> None:
    [stack] = stacks(template.directory, template.stack)
    found = templates.fetch([stack], tmp_path, lambda region: deployed.client("cloudformation"))
    assert found == [template.stack]
    written = json.loads((tmp_path / f"{template.stack}.template.json").read_text())
    assert written == template.template


def test_the_rollback_alarms_are_found_in_the_deployed_stack(
    deployed: DeployedQueue, template: Assembly
) -> None:
    [stack] = stacks(template.directory, template.stack)

    def client_of(service: str, region: str | None) -> Any:
        return deployed.client(service)

    watch = rollback.watch(stack, client_of)
    wanted = template.template["Metadata"][rollback.METADATA]["alarms"]
    watched = [arn.rsplit(":", 1)[-1] for arn in watch.arns]
    # An earlier test may have made a function fail. Its firing alarm is then not watched, and a note names it.
    ringing = [note.split()[0] for note in watch.notes]
    assert sorted(watched + ringing) == sorted(deployed.physical_id(logical_id) for logical_id in wanted)
