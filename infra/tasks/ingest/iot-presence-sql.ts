/**
 * The IoT rule's statement on a device that connected. Its language is the version of 2016-03-23, the first with
 * object literals (https://docs.aws.amazon.com/iot/latest/developerguide/iot-sql-literals.html).
 *
 * - The device is the key. Its version number counts its connections, so the events of one device have an order, and
 *   one that IoT publishes twice is one task. IoT starts to count again once a device was away for about an hour, so the
 *   hour of the event comes first in the sequence.
 * - The client's identifier ends the topic and may have slashes, so the filter takes any number of levels.
 * - IoT's time of the event may be two minutes off
 *   (https://docs.aws.amazon.com/iot/latest/developerguide/life-cycle-events.html). One that lies ahead of the rule's
 *   own clock is replaced by it: a task from the future would be rejected.
 */
export const IOT_PRESENCE_SQL = [
  'SELECT clientId AS key,',
  'floor(timestamp / 3600000) * 1000000 + versionNumber AS sequence,',
  'CASE timestamp > timestamp() WHEN true THEN timestamp() ELSE timestamp END AS taskCreated,',
  "{'clientId': clientId, 'ipAddress': ipAddress, 'connectedAt': timestamp,",
  "'sessionIdentifier': sessionIdentifier, 'versionNumber': versionNumber,",
  "'principalIdentifier': principalIdentifier} AS payload",
  "FROM '$aws/events/presence/connected/#'",
].join(' ');

/** The version of the language of {@link IOT_PRESENCE_SQL}. */
export const IOT_SQL_VERSION = '2016-03-23';
