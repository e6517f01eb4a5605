import type { Warning } from '../shared/problem';
import { formerWarnings } from '../shared/setting';
import type { PartialQueueSettings, QueueSettings } from './settings';
import { INGEST } from './settings/ingest';
import { BREAKER, PROCESSING } from './settings/processing';
import { STREAM } from './settings/stream';

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
  return [
    ...warnings,
    ...formerWarnings('processing', PROCESSING, given.processing),
    ...formerWarnings('processing.breaker', BREAKER, given.processing?.breaker),
    ...formerWarnings('stream', STREAM, given.stream),
    ...formerWarnings('ingest', INGEST, given.ingest),
  ];
}
