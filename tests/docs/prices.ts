/** When the prices were looked up. */
export const LOOKED_UP = 'November 2026';

const MILLION = 1_000_000;

/** List prices in us-east-1, in US dollars. */
export const PRICES = {
  alarmMetric: { price: 0.1, per: 1, unit: 'metric and month' },
  metric: { price: 0.3, per: 1, unit: 'metric and month' },
  dashboard: { price: 3, per: 1, unit: 'dashboard and month' },
  request: { price: 0.4, per: MILLION, unit: 'million requests' },
  fifoRequest: { price: 0.5, per: MILLION, unit: 'million requests' },
  schedule: { price: 1, per: MILLION, unit: 'million invocations' },
  invocation: { price: 0.2, per: MILLION, unit: 'million requests' },
  trace: { price: 5, per: MILLION, unit: 'million traces' },
} as const;
