import type { Warning } from '../shared/problem';
import type { PartialQueueSettings, QueueSettings } from './settings';

/** Share of runs without a response in the warning below: 2 % is common for an API on the internet. */
const WITHOUT_RESPONSE = 0.02;

/** Returns warnings about settings that leave no slots if some runs get no response, and about settings without effect. */
export function healthWarnings({ processing }: QueueSettings, given: PartialQueueSettings): Warning[] {
  const warnings: Warning[] = [];
  const { concurrency, ratePerSecond } = processing;
  const seconds = processing.taskTimeout.toSeconds({ integral: false });
  const slots = Math.floor((ratePerSecond ?? 0) * WITHOUT_RESPONSE * seconds);
  if (slots >= concurrency) {
    const text = `processing.taskTimeout = ${seconds} s: if 2 % of the runs get no response, about ${slots} runs wait for it at ratePerSecond = ${ratePerSecond}, and processing.concurrency = ${concurrency} leaves no slot for other tasks. Set taskTimeout to slightly more than the downstream's longest response, or raise concurrency.`;
    warnings.push({ id: 'freshq:slots-of-hanging-runs', text });
  }
  const former = {
    'processing.pause': given.processing?.pause,
    'processing.breaker.pauseAfter': given.processing?.breaker?.pauseAfter,
  };
  for (const [name, value] of Object.entries(former)) {
    if (value === undefined) continue;
    const text = `${name} has no effect: the queue no longer pauses itself, it only probes during an outage. Remove it; the next release rejects it.`;
    warnings.push({ id: `freshq:without-effect-${name}`, text });
  }
  return warnings;
}
