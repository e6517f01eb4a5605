"""Tests that read an assembly and fetch the templates of its deployed stacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from delivery import assembly, deployed
from delivery.assembly import Stack
from local.assembly import AssemblyError


class Client:
    def __init__(self, template: Any) -> None:
        self.template = template

    def get_template(self, StackName: str, TemplateStage: str) -> dict[str, Any]:  # noqa: N803
        assert TemplateStage == "Original"
        if isinstance(self.template, Exception):
            raise self.template
        if StackName != "Here":
            raise ClientError(
                {"Error": {"Code": "ValidationError", "Message": f"Stack {StackName} does not exist"}},
                "GetTemplate",
            )
        return {"TemplateBody": self.template}


def stack(name: str, region: str | None = None) -> Stack:
    return Stack(Path("."), name, region)


def write_assembly(folder: Path, **stacks: str) -> Path:
    artifacts = {
        name: {"type": "aws:cloudformation:stack", "environment": environment}
        for name, environment in stacks.items()
    }
    manifest = {"artifacts": artifacts | {"Tree": {"type": "cdk:tree"}}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


class TestFetching:
    @pytest.mark.parametrize("body", [{"Resources": {}}, '{"Resources": {}}'])
    def test_only_the_templates_of_deployed_stacks_are_written(
        self, tmp_path: Path, body: Any
    ) -> None:
        regions = []

        def client_of(region: str | None) -> Client:
            regions.append(region)
            return Client(body)

        stacks = [stack("Here", "eu-west-1"), stack("Nowhere")]
        assert deployed.fetch(stacks, tmp_path / "into", client_of) == ["Here"]
        [written] = (tmp_path / "into").iterdir()
        assert written.name == "Here.template.json"
        assert json.loads(written.read_text()) == {"Resources": {}}
        assert regions == ["eu-west-1", None]

    def test_templates_from_an_earlier_run_are_removed(self, tmp_path: Path) -> None:
        (tmp_path / "Gone.template.json").write_text("{}")
        assert deployed.fetch([], tmp_path) == []
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "error",
        [
            ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "GetTemplate"),
            NoCredentialsError(),
        ],
    )
    def test_unreadable_template_is_an_error(
        self, tmp_path: Path, error: Exception
    ) -> None:
        with pytest.raises(deployed.FetchFailed, match="template of Here cannot be read"):
            deployed.fetch([stack("Here")], tmp_path, lambda _: Client(error))


class TestAssembly:
    def test_the_stacks_of_an_assembly_have_their_regions(self, tmp_path: Path) -> None:
        write_assembly(
            tmp_path,
            B="aws://unknown-account/unknown-region",
            A="aws://123456789012/eu-central-1",
        )
        found = [(each.name, each.region) for each in assembly.stacks(tmp_path)]
        assert found == [("A", "eu-central-1"), ("B", None)]
        assert [each.name for each in assembly.stacks(tmp_path, "B")] == ["B"]

    def test_error_names_a_missing_stack_or_assembly(self, tmp_path: Path) -> None:
        with pytest.raises(AssemblyError, match="manifest.json is missing"):
            assembly.stacks(tmp_path)
        write_assembly(tmp_path, A="aws://unknown-account/unknown-region")
        with pytest.raises(AssemblyError, match="no stack C; it has A"):
            assembly.stacks(tmp_path, "C")
