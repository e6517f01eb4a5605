import type { QueueSettings } from './settings';

/** `EXPIRY_BOUND_SECONDS` where the settings promise that no task lives longer. */
export function expiryBound({ tasks, processing }: QueueSettings): { EXPIRY_BOUND_SECONDS?: string } {
  // A key that keeps its place may be older than its state.
  if (processing.order === 'oldest-key-first') return {};
  if (tasks.allowDirectWrites || tasks.maxTtl === undefined) return {};
  return { EXPIRY_BOUND_SECONDS: String(tasks.maxTtl.toSeconds()) };
}
