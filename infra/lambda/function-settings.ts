import { Duration } from 'aws-cdk-lib';

/** What a function is set up with: durations, numbers, texts, flags, and groups and lists of them. */
export type FunctionSettings = Readonly<Record<string, unknown>>;

/** The variable that holds the settings of a function. */
export function settingsVariable(binary: string): string {
  return `SETTINGS_${binary.toUpperCase().replaceAll('-', '_')}`;
}

/**
 * The settings as the function reads them. A duration becomes whole milliseconds under a name that ends in `Ms`. What
 * is undefined is left out.
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
