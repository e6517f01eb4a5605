/**
 * The SQL statement of the IoT rule for devices that connect. It needs version 2016-03-23 of the language, the first
 * with object literals (https://docs.aws.amazon.com/iot/latest/developerguide/iot-sql-literals.html).
 *
 * - The device is the key. Its version number counts its connections. So the events of one device have an order, and an
 *   event that IoT publishes twice is one task. IoT restarts the count after a device was disconnected for about an
 *   hour, so the sequence begins with the hour of the event.
 * - The topic ends with the client's identifier, which may have slashes. So the filter accepts any number of levels.
 * - IoT's time of the event may be wrong by two minutes
 *   (https://docs.aws.amazon.com/iot/latest/developerguide/life-cycle-events.html). If it is later than the rule's own
 *   clock, the statement uses the rule's clock, because a task from the future may be rejected.
 * - In a queue with groups all devices are one group. Otherwise a slash in an identifier would end a group.
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
