import { Duration } from 'aws-cdk-lib';

/** Settings of a function: durations, numbers, strings, Booleans, and groups and lists of these. */
export type FunctionSettings = Readonly<Record<string, unknown>>;

/** Returns the name of the environment variable that contains a function's settings. */
export function settingsVariable(binary: string): string {
  return `SETTINGS_${binary.toUpperCase().replaceAll('-', '_')}`;
}

/**
 * Converts settings to the format that the function reads. Durations become whole milliseconds under a name that ends
 * in `Ms`. Undefined settings are omitted.
 */
export function settingsJson(settings: FunctionSettings): FunctionSettings {
  const entries = Object.entries(settings).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    entries.map(([name, value]) => {
      if (value instanceof Duration) return [`${name}Ms`, value.toMilliseconds()];
      const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value);
      return [name, isGroup ? settingsJson(value as FunctionSettings) : value];
    }),
  );
}
