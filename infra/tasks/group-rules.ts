import type { Warning } from '../shared/problem';
import type { QueueSettings } from './settings';

/** Returns warnings about group settings that probably don't work as intended, or an empty list. */
export function groupWarnings({ processing, ingest }: QueueSettings): Warning[] {
  const { concurrency, ratePerSecond, burst, groups, order } = processing;
  if (groups === undefined) return [];
  const warnings: Warning[] = [];
  if (groups.maxConcurrency !== undefined && groups.maxConcurrency >= concurrency) {
    warnings.push({
      id: 'freshq:group-concurrency',
      text: `processing.groups.maxConcurrency = ${groups.maxConcurrency} limits no group, because the whole queue runs at most processing.concurrency = ${concurrency} concurrent tasks. Lower it below ${concurrency}, or omit it.`,
    });
  }
  const rate = groups.ratePerSecond;
  const limitsRates = rate !== undefined && ratePerSecond !== undefined;
  // With equal rates, the group's limit still has an effect if the queue's burst is larger than the group's.
  if (limitsRates && rate >= ratePerSecond && Math.ceil(rate) >= (burst ?? Math.ceil(ratePerSecond))) {
    warnings.push({
      id: 'freshq:group-rate',
      text: `processing.groups.ratePerSecond = ${rate} limits no group, because the whole queue starts at most processing.ratePerSecond = ${ratePerSecond} tasks per second. Lower it below ${ratePerSecond}, or omit it.`,
    });
  }
  const isLimited = groups.maxConcurrency !== undefined || rate !== undefined;
  if (ingest?.iotPresence && isLimited) {
    warnings.push({
      id: 'freshq:group-of-devices',
      text: 'processing.groups limits each group, and ingest.iotPresence puts all devices into the one group iot-presence, so the limit is for all devices together. If they need more, omit the limits and limit individual groups with freshq limit --group, or give the devices their own queue.',
    });
  }
  if (order === 'oldest-key-first') {
    warnings.push({
      id: 'freshq:group-order',
      text: "processing.groups shares the slots among the groups of the 1,000 tasks that the processor reads, and with the order 'oldest-key-first' these are the 1,000 oldest. A group whose tasks are all newer does not start. If one group may have more than 1,000 pending tasks, limit it with processing.groups, or choose the order 'newest-first'.",
    });
  }
  return warnings;
}
