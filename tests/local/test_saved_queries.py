"""The emulator patch for saved queries."""

from __future__ import annotations

import pytest
from ministack.services.cloudformation import provisioners

from local import saved_queries

PROPERTIES = {"Name": "freshq/stack/queue/errors", "QueryString": "fields @timestamp"}


def test_emulator_alone_rejects_a_saved_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """If this test fails, the emulator supports saved queries, and `local.saved_queries` can be deleted."""
    monkeypatch.delitem(provisioners._RESOURCE_HANDLERS, saved_queries.KIND, raising=False)
    with pytest.raises(ValueError, match="Unsupported resource type"):
        provisioners._provision_resource(saved_queries.KIND, "errors", PROPERTIES, "stack")


def test_saved_query_gets_an_id_and_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provisioners, "_RESOURCE_HANDLERS", dict(provisioners._RESOURCE_HANDLERS))
    saved_queries.install()
    query_id, attributes = provisioners._provision_resource(
        saved_queries.KIND, "errors", PROPERTIES, "stack"
    )
    assert attributes == {"QueryDefinitionId": query_id}
    changed = PROPERTIES | {"Name": "freshq/stack/queue/failures"}
    kept, _ = provisioners._update_resource(
        saved_queries.KIND, query_id, PROPERTIES, changed, "stack", "errors"
    )
    assert kept == query_id
    provisioners._delete_resource(saved_queries.KIND, query_id, changed)


def test_saved_query_without_its_text_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provisioners, "_RESOURCE_HANDLERS", dict(provisioners._RESOURCE_HANDLERS))
    saved_queries.install()
    with pytest.raises(ValueError, match="needs Name and QueryString"):
        provisioners._provision_resource(saved_queries.KIND, "errors", {"Name": "errors"}, "stack")
