"""Compares a deployed stack with its template. Makes only read requests and doesn't read any task data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from local.assembly import Assembly, Resource
from local.stack import DeployedStack
from local.waiting import wait_until
from smoke.place import Place
from smoke.report import Report, Skipped, expect

FUNCTION = "AWS::Lambda::Function"
MAPPING = "AWS::Lambda::EventSourceMapping"
SCHEDULE = "AWS::Scheduler::Schedule"
TABLE = "AWS::DynamoDB::Table"
GLOBAL_TABLE = "AWS::DynamoDB::GlobalTable"
ALARM = "AWS::CloudWatch::Alarm"
#: Maximum waits. A new mapping starts within a minute. An alarm on a missing sweep can fire for minutes at first.
MAPPING_SECONDS = 180.0
ALARM_SECONDS = 600.0
_CALM = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "IMPORT_COMPLETE")


@dataclass
class SettingChecks:
    place: Place
    stack: DeployedStack
    template: Assembly
    #: Whether CloudFormation rejects the deletion of the stack.
    termination_protection: bool
    #: Start of the deployment. An alarm that was in ALARM before it doesn't fail the check. If None, any alarm does.
    since: datetime | None = None

    def run(self, report: Report) -> None:
        checks: list[tuple[str, Callable[[], str]]] = [
            ("the stack is complete and protected as configured", self.complete),
            ("functions have their concurrency, time, memory and loop settings", self.functions),
            ("event sources and schedules are enabled", self.sources),
            ("tables expire tasks and are protected as configured", self.tables),
            ("alarms are on, and none fires", self.alarms),
        ]
        for name, check in checks:
            report.check(f"{self.stack.stack}: {name}", check)

    def complete(self) -> str:
        described = self.stack.client("cloudformation").describe_stacks(StackName=self.stack.stack)["Stacks"][0]
        status = described["StackStatus"]
        expect(status in _CALM, f"its status is {status}: the last deployment did not succeed")
        if self.place.is_local:
            return f"{status}; the local AWS has no termination protection"
        same("termination protection", described.get("EnableTerminationProtection", False), self.termination_protection)
        return status

    def functions(self) -> str:
        client, checked = self.stack.client("lambda"), 0
        for resource, name in self.deployed(FUNCTION):
            wanted = resource.properties
            found = client.get_function_configuration(FunctionName=name)
            concurrency = client.get_function_concurrency(FunctionName=name)
            recursion = client.get_function_recursion_config(FunctionName=name)
            reserved = "ReservedConcurrentExecutions"
            same(f"{name}: {reserved}", concurrency.get(reserved), wanted.get(reserved))
            same(f"{name}: RecursiveLoop", recursion["RecursiveLoop"], wanted.get("RecursiveLoop", "Terminate"))
            same(f"{name}: Timeout", found["Timeout"], wanted["Timeout"])
            same(f"{name}: MemorySize", found["MemorySize"], wanted["MemorySize"])
            expect(found.get("State", "Active") == "Active", f"{name} is {found.get('State')}")
            checked += 1
        return f"{checked} functions"

    def sources(self) -> str:
        mappings = list(self.deployed(MAPPING))
        client = self.stack.client("lambda")
        wait_until(
            lambda: all(
                client.get_event_source_mapping(UUID=mapping)["State"] == "Enabled" for _, mapping in mappings
            ),
            MAPPING_SECONDS,
            f"every event source mapping of {self.stack.stack} enabled",
        )
        schedules = list(self.deployed(SCHEDULE))
        for resource, name in schedules:
            found = self.stack.client("scheduler").get_schedule(Name=name)
            wanted = resource.properties
            same(f"{name}: state", found["State"], wanted.get("State", "ENABLED"))
            same(f"{name}: expression", found["ScheduleExpression"], wanted["ScheduleExpression"])
        return f"{len(mappings)} event sources, {len(schedules)} schedules"

    def tables(self) -> str:
        client, found = self.stack.client("dynamodb"), []
        for resource, name in self.deployed(TABLE, GLOBAL_TABLE):
            wanted = resource.properties | (resource.properties.get("Replicas") or [{}])[0]
            expiry = client.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
            specified = wanted.get("TimeToLiveSpecification", {"Enabled": False})
            enabled = expiry["TimeToLiveStatus"] in ("ENABLED", "ENABLING")
            same(f"{name}: time to live", enabled, truth(specified["Enabled"]))
            if enabled:
                same(f"{name}: attribute of the expiry", expiry["AttributeName"], specified["AttributeName"])
            backups = client.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
            recovery = backups["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"
            asked = wanted.get("PointInTimeRecoverySpecification", {}).get("PointInTimeRecoveryEnabled", False)
            same(f"{name}: point-in-time recovery", recovery, truth(asked))
            table = client.describe_table(TableName=name)["Table"]
            protected = table.get("DeletionProtectionEnabled", False)
            same(f"{name}: deletion protection", protected, truth(wanted.get("DeletionProtectionEnabled", False)))
            found.append(name)
        return ", ".join(found)

    def alarms(self) -> str:
        if self.place.is_local:
            raise Skipped("skipped locally: the local AWS has no alarms")
        names = [name for _, name in self.deployed(ALARM)]
        wait_until(
            lambda: not self.firing(names)[0], ALARM_SECONDS, f"no alarm of {self.stack.stack} fires", every=15
        )
        earlier = self.firing(names)[1]
        return f"{len(names)} alarms" + (f"; fired before the deployment: {', '.join(earlier)}" if earlier else "")

    def firing(self, names: list[str]) -> tuple[list[str], list[str]]:
        """The alarms in ALARM: first those that fired since the start of the deployment, then those that fired before it.

        Raises `CheckFailed` if an alarm doesn't exist or its actions are disabled.
        """
        pages = self.stack.client("cloudwatch").get_paginator("describe_alarms").paginate(
            AlarmNames=names, AlarmTypes=["MetricAlarm"]
        )
        found = {alarm["AlarmName"]: alarm for page in pages for alarm in page["MetricAlarms"]}
        missing = sorted(set(names) - found.keys())
        expect(not missing, f"alarms that were removed manually: {', '.join(missing)}")
        off = sorted(name for name, alarm in found.items() if not alarm["ActionsEnabled"])
        expect(not off, f"alarms whose actions were disabled: {', '.join(off)}")
        fires = {name: alarm for name, alarm in sorted(found.items()) if alarm["StateValue"] == "ALARM"}
        earlier = [
            name for name, alarm in fires.items() if self.since and alarm["StateTransitionedTimestamp"] < self.since
        ]
        return [name for name in fires if name not in earlier], earlier

    def deployed(self, *types: str) -> Iterator[tuple[Resource, str]]:
        """The template's resources of these types, each with its deployed name."""
        for resource in self.template.resources(*types):
            yield resource, self.stack.physical_id(resource.logical_id)


def same(what: str, found: Any, wanted: Any) -> None:
    """Raises `CheckFailed` unless the setting has the value from the template."""
    expect(
        found == wanted,
        f"{what} is {found}, and {wanted} in the template: changed manually? Deploy to restore it",
    )


def truth(value: Any) -> bool:
    """A Boolean from a template, where it can be a string."""
    return value is True or value == "true"
