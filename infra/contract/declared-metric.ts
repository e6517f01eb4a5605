/**
 * A metric that a queue's functions emit. Alarms, dashboards and `docs/reference/telemetry.md` share the declarations.
 */
export interface DeclaredMetric {
  /** CloudWatch unit. */
  readonly unit: 'Count' | 'Seconds';
  /** Statistic that aggregates the values of a period: `Sum` for counters, `Maximum` for measurements. */
  readonly statistic: 'Sum' | 'Maximum';
  /** The functions that emit the metric. */
  readonly by: readonly string[];
  /** What the metric counts or measures, for `docs/reference/telemetry.md`. */
  readonly meaning: string;
}

/** Declares a metric that counts events. */
export function counter(by: readonly string[], meaning: string, unit: DeclaredMetric['unit'] = 'Count') {
  return { unit, statistic: 'Sum', by, meaning } satisfies DeclaredMetric;
}

/** Declares a metric that a function measures, a sweep once per interval. */
export function gauge(by: readonly string[], meaning: string, unit: DeclaredMetric['unit'] = 'Count') {
  return { unit, statistic: 'Maximum', by, meaning } satisfies DeclaredMetric;
}
