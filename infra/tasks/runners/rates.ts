import type { Problem } from '../../shared/problem';

/** Shares of simulated runs that don't succeed: each from 0 to 1, with a maximum total of 1. */
export interface SimulatedRates {
  /**
   * Share of runs that fail permanently.
   * @default 0
   */
  readonly failure?: number;
  /**
   * Share of runs that fail and can be retried.
   * @default 0
   */
  readonly retry?: number;
  /**
   * Share of runs that find the downstream busy.
   * @default 0
   */
  readonly busy?: number;
}

/** Returns the total share of runs that don't succeed. */
export function totalOf(rates: SimulatedRates): number {
  return Object.values(rates).reduce((sum, rate) => sum + rate, 0);
}

export function ratesProblems(rates: SimulatedRates): Problem[] {
  const problems = Object.entries(rates)
    .filter(([, rate]) => !(rate >= 0 && rate <= 1))
    .map(([name, rate]) => ({
      setting: `runner.rates.${name}`,
      rule: `${rate} is not a share of the runs`,
      remedy: 'choose a number from 0 to 1',
    }));
  if (problems.length > 0 || totalOf(rates) <= 1) return problems;
  return [
    {
      setting: 'runner.rates',
      rule: `the sum of the rates is ${totalOf(rates)}, more than all runs`,
      remedy: 'lower them so that their sum is at most 1',
    },
  ];
}
