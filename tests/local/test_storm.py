"""The storm, the downstream system, and the comparison with arrival order."""

from __future__ import annotations

import http.client
import json
import threading
from urllib.parse import urlsplit

from local.demo_iot import Outcome
from local.fake_downstream import fake_downstream
from local.storm import ArrivalOrder, Event, Storm, connection
from local.waiting import now_ms, wait_until


def task(device: str, created: int) -> dict[str, object]:
    return {"taskId": device, "taskCreated": created, "payload": {"clientId": device, "connectedAt": created}}


def test_every_device_connects_once_on_schedule() -> None:
    storm = Storm(burst=20, burst_seconds=0.2, steady=50, steady_seconds=0.4)
    seen: list[Event] = []
    times = storm.blow(seen.extend, every=0.02)
    assert storm.devices == len(seen) == len(times) == 40
    stamps = [event["timestamp"] for event in seen]
    assert stamps == sorted(stamps)
    assert 400 <= stamps[-1] - stamps[0] <= 1_500
    assert times == {event["clientId"]: event["timestamp"] for event in seen}


def test_some_devices_reconnect() -> None:
    storm = Storm(burst=3, burst_seconds=0.1, steady=40, steady_seconds=0.2, reconnects=2)
    assert (storm.connections, storm.devices) == (11, 7)
    assert [storm.device(number) for number in range(3, 11, 2)] == [(2, 1), (1, 1), (0, 1), (2, 2)]
    seen: list[Event] = []
    times = storm.blow(seen.extend, every=0.02)
    assert (len(seen), len(times)) == (11, 7)
    last = [event for event in seen if event["clientId"] == "device-00002"][-1]
    assert (last["versionNumber"], last["timestamp"]) == (2, times["device-00002"])


def test_connection_times_of_a_device_differ_even_if_the_machine_is_late() -> None:
    storm = Storm(burst=2, burst_seconds=0.02, steady=100, steady_seconds=0.04, reconnects=1)
    batches: list[list[Event]] = []
    storm.blow(batches.append, every=0.2)
    assert len(batches) <= 2, "the storm was not late, so the test proves nothing"
    stamps = [(event["clientId"], event["timestamp"]) for events in batches for event in events]
    assert len(set(stamps)) == storm.connections


def test_an_outdated_connection_is_counted() -> None:
    with fake_downstream(capacity=2, service_seconds=0) as legacy:
        legacy.connect("d1", 2_000)
        for connected in (2_000, 1_000):
            task_ = {"payload": {"clientId": "d1", "connectedAt": connected}}
            assert legacy.validate(task_)
    assert (legacy.calls, legacy.outdated, legacy.overwritten, legacy.repeated) == (2, 1, 1, 0)


def test_a_connection_has_the_format_of_an_aws_event() -> None:
    event = connection(300)
    assert event["clientId"] == "device-00300" and event["eventType"] == "connected"
    assert event["ipAddress"].startswith("198.51.100.")
    assert abs(event["timestamp"] - now_ms()) < 1_000


def test_the_downstream_returns_503_for_devices_beyond_its_capacity() -> None:
    validate = threading.Event()
    with fake_downstream(capacity=2, service_seconds=0) as legacy:
        legacy.work = lambda _seconds: validate.wait(10)
        statuses: list[int] = []
        threads = [
            threading.Thread(target=lambda n=number: statuses.append(post(legacy.address, n)))
            for number in range(5)
        ]
        for thread in threads:
            thread.start()
        wait_until(lambda: legacy.turned_away == 3, 10, "three devices beyond the capacity")
        validate.set()
        for thread in threads:
            thread.join()
    assert sorted(statuses) == [204, 204, 503, 503, 503]
    assert (len(legacy.validated), legacy.turned_away, legacy.repeated) == (2, 3, 0)


def test_the_arrival_order_serves_the_oldest_first_and_drops_expired_tasks() -> None:
    with fake_downstream(capacity=1, service_seconds=0.02) as legacy:
        order = ArrivalOrder(legacy, expiry_seconds=30)
        order.put(task("stale", now_ms() - 31_000))
        for number in range(5):
            order.put(task(f"d{number}", now_ms()))
        order.finish(10)
    assert list(legacy.validated) == [f"d{number}" for number in range(5)]
    assert (legacy.turned_away, legacy.repeated) == (0, 0)


def test_an_outcome_computes_its_counts_and_percentiles() -> None:
    outcome = Outcome("any", 10, [9.0, 1.0, 5.0, 5.1], outdated=1)
    assert (outcome.soon, outcome.shed) == (2, 6)
    assert (outcome.percentile(0.5), outcome.percentile(0.9)) == (5.0, 9.0)


def post(address: str, number: int) -> int:
    parts = urlsplit(address)
    connection_ = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    try:
        connection_.request("POST", parts.path, json.dumps(task(f"d{number}", now_ms())))
        return connection_.getresponse().status
    finally:
        connection_.close()
