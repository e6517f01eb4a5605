/** A configuration problem: the setting, the rule that it breaks, and the remedy. */
export interface Problem {
  /** Path of the setting in the configuration, for example `processing.turn`. */
  readonly setting: string;
  /** The broken rule, with the values and the reason. */
  readonly rule: string;
  readonly remedy: string;
}

/** A warning about a configuration that is valid but probably doesn't work as intended. */
export interface Warning {
  /** Id that a user can specify to acknowledge the warning. */
  readonly id: string;
  /** The problem and the remedy. */
  readonly text: string;
}

/** Returns a problem with a setting if `breaks` is true, otherwise an empty list. See {@link Problem}. */
export function problemIf(breaks: boolean, setting: string, rule: string, remedy: string): Problem[] {
  return breaks ? [{ setting, rule, remedy }] : [];
}

/** Synthesis error that lists all problems with a configuration. */
export class InvalidConfiguration extends Error {
  /**
   * @param where construct or environment to which the configuration belongs
   * @param problems the problems; at least one
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

/** Throws {@link InvalidConfiguration} if there are problems. */
export function reject(where: string, problems: readonly Problem[]): void {
  if (problems.length > 0) throw new InvalidConfiguration(where, problems);
}
