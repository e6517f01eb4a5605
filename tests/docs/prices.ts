/** When the prices were looked up. */
export const LOOKED_UP = 'November 2026';

const MILLION = 1_000_000;

/** List prices in us-east-1, in US dollars. */
export const PRICES = {
  alarmMetric: { price: 0.1, per: 1, unit: 'a metric and month' },
  metric: { price: 0.3, per: 1, unit: 'a metric and month' },
  dashboard: { price: 3, per: 1, unit: 'a dashboard and month' },
  request: { price: 0.4, per: MILLION, unit: 'a million requests' },
  fifoRequest: { price: 0.5, per: MILLION, unit: 'a million requests' },
  schedule: { price: 1, per: MILLION, unit: 'a million invocations' },
  invocation: { price: 0.2, per: MILLION, unit: 'a million requests' },
  trace: { price: 5, per: MILLION, unit: 'a million traces' },
} as const;
