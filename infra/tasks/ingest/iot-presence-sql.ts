/**
 * Returns the SQL of the IoT rule for devices that connect. It requires SQL version 2016-03-23, the first with object
 * literals (https://docs.aws.amazon.com/iot/latest/developerguide/iot-sql-literals.html).
 *
 * - The device is the key. The version number counts the device's connections, so the events of one device are ordered,
 *   and an event that IoT publishes twice becomes one task. IoT restarts the count after a device was disconnected for
 *   about an hour. The sequence therefore starts with the hour of the event.
 * - The topic ends with the client id, which can contain slashes. Therefore, the filter accepts any number of levels.
 * - IoT's event time can be off by two minutes
 *   (https://docs.aws.amazon.com/iot/latest/developerguide/life-cycle-events.html). If it is later than the rule's own
 *   clock, the statement uses the rule's clock, because a task from the future can be rejected.
 * - In a queue with groups, all devices form one group. Otherwise, a slash in a client id would end the group.
 */
export function iotPresenceSql(groups: boolean): string {
  return [
    `SELECT ${groups ? "'iot-presence' AS group, " : ''}clientId AS key,`,
    'floor(timestamp / 3600000) * 1000000 + versionNumber AS sequence,',
    'CASE timestamp > timestamp() WHEN true THEN timestamp() ELSE timestamp END AS taskCreated,',
    "{'clientId': clientId, 'ipAddress': ipAddress, 'connectedAt': timestamp,",
    "'sessionIdentifier': sessionIdentifier, 'versionNumber': versionNumber,",
    "'principalIdentifier': principalIdentifier} AS payload",
    "FROM '$aws/events/presence/connected/#'",
  ].join(' ');
}

export const IOT_SQL_VERSION = '2016-03-23';
