"""The smoke test's settings comparison finds a changed setting."""

from __future__ import annotations

import pytest

from local.assembly import Assembly
from local.deployment import fake_session
from local.emulator import Emulator
from local.queue import DeployedQueue
from smoke.place import Place
from smoke.report import CheckFailed
from smoke.settings import SettingChecks


def test_manually_changed_setting_is_found(
    queue: DeployedQueue, local_aws: Emulator, template: Assembly
) -> None:
    checks = SettingChecks(Place(fake_session(), local_aws), queue, template, False)
    assert checks.functions() == "6 functions"
    queue.wait_until_idle()
    queue.client("lambda").put_function_concurrency(
        FunctionName=queue.function("process-tasks"), ReservedConcurrentExecutions=3
    )
    # The fixture restores the setting.
    with pytest.raises(CheckFailed, match="ReservedConcurrentExecutions is 3, and 2 in the template"):
        checks.functions()
