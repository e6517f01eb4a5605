import type { QueueSettings } from './settings';

/** `EXPIRY_BOUND_SECONDS` where the settings promise that no task lives longer. */
export function expiryBound({ tasks }: QueueSettings): { EXPIRY_BOUND_SECONDS?: string } {
  if (tasks.allowDirectWrites || tasks.maxTtl === undefined) return {};
  return { EXPIRY_BOUND_SECONDS: String(tasks.maxTtl.toSeconds()) };
}
