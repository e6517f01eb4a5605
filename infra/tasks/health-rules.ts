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
  return [...warnings, ...formerSettings(given.processing)];
}

/** Returns a warning per setting that is set but no longer has an effect. */
function formerSettings(given: PartialQueueSettings['processing']): Warning[] {
  const noPause = 'the queue no longer pauses itself, it only probes during an outage';
  const former: [name: string, value: unknown, reason: string][] = [
    ['processing.pause', given?.pause, noPause],
    ['processing.breaker.pauseAfter', given?.breaker?.pauseAfter, noPause],
    ['processing.reservedConcurrency', given?.reservedConcurrency, 'process-tasks reserves 2 units'],
    ['processing.clockSkew', given?.clockSkew, 'it is 2 s'],
    ['processing.notificationMarker', given?.notificationMarker, 'it is 10 s'],
  ];
  return former
    .filter(([, value]) => value !== undefined)
    .map(([name, , reason]) => ({
      id: `freshq:without-effect-${name}`,
      text: `${name} has no effect: ${reason}. Remove it; the next release rejects it.`,
    }));
}
