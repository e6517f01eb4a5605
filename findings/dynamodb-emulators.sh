#!/usr/bin/env bash
# A test on a DynamoDB emulator is only as strict as the emulator. One would expect each to reject what DynamoDB's API
# reference says is invalid. Six invalid requests of kinds that a queue's code can contain show which mistakes pass
# unnoticed on moto and on dynalite. DynamoDB Local, AWS's own engine, rejects all six. A queue's stores need a second
# engine, and tests that compare the requests themselves.
set -euo pipefail
work=$(mktemp -d)
pids=()
stop() {
  for pid in "${pids[@]}"; do { kill "$pid" && wait "$pid"; } 2>/dev/null || true; done
}
trap 'stop; rm -rf "$work"' EXIT
cd "$work"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check "moto[dynamodb,server]==5.2.5" boto3==1.44.8
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts --save-exact dynalite@4.0.0
cat >check.py <<'PY'
import sys
import time

import boto3
from botocore.exceptions import ClientError, EndpointConnectionError

KEYS = {"taskId": {"S": "t1"}}
ITEM = {**KEYS, "taskStatus": {"S": "PENDING"}, "taskCreated": {"N": "1"}, "payload": {"S": "p"}}
QUERY = {
    "TableName": "tasks",
    "IndexName": "by-status",
    "KeyConditionExpression": "taskStatus = :status",
    "ExpressionAttributeValues": {":status": {"S": "PENDING"}},
}
CASES = {
    "index query names an unprojected attribute": ("query", {**QUERY, "ProjectionExpression": "taskId, payload"}),
    "index query filters on an unprojected attribute": (
        "query",
        {**QUERY, "FilterExpression": "attribute_exists(payload)"},
    ),
    "strongly consistent query of a global index": ("query", {**QUERY, "ConsistentRead": True}),
    "index key attribute is an empty string": (
        "put_item",
        {"TableName": "tasks", "Item": {**ITEM, "taskStatus": {"S": ""}}},
    ),
    "number with 39 significant digits": (
        "put_item",
        {"TableName": "tasks", "Item": {**ITEM, "n": {"N": "123456789012345678901234567890123456789"}}},
    ),
    "expression value that no expression uses": (
        "update_item",
        {
            "TableName": "tasks",
            "Key": KEYS,
            "UpdateExpression": "SET n = :n",
            "ExpressionAttributeValues": {":n": {"N": "1"}, ":unused": {"N": "2"}},
        },
    ),
}


def observe(port):
    client = boto3.client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    attributes = [("taskId", "S"), ("taskStatus", "S"), ("taskCreated", "N")]
    index = [{"AttributeName": "taskStatus", "KeyType": "HASH"}, {"AttributeName": "taskCreated", "KeyType": "RANGE"}]
    for _ in range(100):
        try:
            client.list_tables()
            break
        except EndpointConnectionError:
            time.sleep(0.1)
    client.create_table(
        TableName="tasks",
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind in attributes],
        KeySchema=[{"AttributeName": "taskId", "KeyType": "HASH"}],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "by-status",
                "KeySchema": index,
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["ttl"]},
            }
        ],
    )
    while client.describe_table(TableName="tasks")["Table"]["TableStatus"] != "ACTIVE":
        time.sleep(0.1)
    client.put_item(TableName="tasks", Item=ITEM)
    seen = []
    for operation, request in CASES.values():
        try:
            getattr(client, operation)(**request)
            seen.append("accepted")
        except ClientError as error:
            seen.append("rejected" if error.response["Error"]["Code"] == "ValidationException" else str(error))
    return seen


moto, dynalite = observe(sys.argv[1]), observe(sys.argv[2])
for case, one, other in zip(CASES, moto, dynalite):
    print(f"{case:<50} moto {one}, dynalite {other}")
MOTO = ["accepted", "accepted", "rejected", "rejected", "accepted", "rejected"]
DYNALITE = ["accepted", "accepted", "rejected", "accepted", "rejected", "rejected"]
sys.exit(0 if (moto, dynalite) == (MOTO, DYNALITE) else 1)
PY
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
moto=$(free_port) dynalite=$(free_port)
venv/bin/moto_server -H 127.0.0.1 -p "$moto" >moto.log 2>&1 &
pids+=($!)
node -e 'require("dynalite")({ createTableMs: 0 }).listen(Number(process.argv[1]), "127.0.0.1")' "$dynalite" >dynalite.log 2>&1 &
pids+=($!)
echo "moto 5.2.5, dynalite 4.0.0"
venv/bin/python check.py "$moto" "$dynalite"
