import type { Warning } from '../shared/problem';
import type { QueueSettings } from './settings';

/** Share of runs without a response in the warning below: 2 % is common for an API on the internet. */
const WITHOUT_RESPONSE = 0.02;

/** Returns a warning about settings that leave no slots if some runs get no response. */
export function healthWarnings({ processing }: QueueSettings): Warning[] {
  const { concurrency, ratePerSecond } = processing;
  const seconds = processing.taskTimeout.toSeconds({ integral: false });
  const slots = Math.floor((ratePerSecond ?? 0) * WITHOUT_RESPONSE * seconds);
  if (slots < concurrency) return [];
  const text = `processing.taskTimeout = ${seconds} s: if 2 % of the runs get no response, about ${slots} runs wait for it at ratePerSecond = ${ratePerSecond}, and processing.concurrency = ${concurrency} leaves no slot for other tasks. Set taskTimeout to slightly more than the downstream's longest response, or raise concurrency.`;
  return [{ id: 'freshq:slots-of-hanging-runs', text }];
}
