/** A configuration that cannot work: which setting, the rule it breaks, and what to do. */
export interface Problem {
  /** The setting, as it is written in the configuration (`processing.turn`). */
  readonly setting: string;
  /** What is wrong, with the values and the reason. */
  readonly rule: string;
  /** What to change. */
  readonly remedy: string;
}

/** Thrown at synthesis; names every problem of a configuration at once. */
export class InvalidConfiguration extends Error {
  /**
   * @param where the construct or environment that is configured
   * @param problems at least one
   */
  constructor(
    where: string,
    readonly problems: readonly Problem[],
  ) {
    const lines = problems.map(({ setting, rule, remedy }) => `  - ${setting}: ${rule}. Remedy: ${remedy}.`);
    super(`${where} cannot work as configured:\n${lines.join('\n')}`);
    this.name = 'InvalidConfiguration';
  }
}

/** Throws {@link InvalidConfiguration} if there is any problem. */
export function refuse(where: string, problems: readonly Problem[]): void {
  if (problems.length > 0) throw new InvalidConfiguration(where, problems);
}
