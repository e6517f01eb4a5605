import { Annotations, type CfnElement, Duration, type Stack } from 'aws-cdk-lib';
import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import { type Problem, problemIf } from '../shared/problem';

/** Key of the rollback configuration in the template's metadata. `delivery/rollback.py` reads it. */
export const ROLLBACK_METADATA = 'freshq:rollback';

/** Maximum number of alarms that CloudFormation monitors. */
export const MOST_ROLLBACK_ALARMS = 5;

/**
 * Maximum time for which CloudFormation monitors alarms
 * (https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_RollbackConfiguration.html).
 */
const LONGEST_WATCH = Duration.hours(3);

/**
 * Time until the alarms fire if the new code fails immediately: two sweeps, one minute apart; up to three minutes until
 * CloudWatch has the metrics; one minute until it evaluates them; and one minute in reserve.
 */
export const LEAST_WATCH = Duration.minutes(7);

/** Returns a problem if CloudFormation can't monitor a deployment for this time. */
export function watchProblems(watch: Duration): Problem[] {
  const seconds = watch.toSeconds();
  return problemIf(
    !(seconds % 60 === 0 && seconds <= LONGEST_WATCH.toSeconds()),
    'rollbackWatch',
    `CloudFormation cannot watch a deployment for ${watch.toHumanString()}`,
    `give whole minutes, at most ${LONGEST_WATCH.toMinutes()}, or 0 to watch only during the deployment`,
  );
}

/**
 * Adds to the template the alarms that make CloudFormation roll back a deployment. They must fire within
 * {@link LEAST_WATCH} if the new code fails, but not because of a slow downstream or an operator's pause. CloudFormation
 * monitors the alarms that exist before the deployment. Synthesis prints a warning if `watch` is too short.
 *
 * @param alarms up to {@link MOST_ROLLBACK_ALARMS}
 * @param watch how long CloudFormation monitors the alarms after the deployment, in whole minutes
 */
export function rollBackOn(stack: Stack, alarms: readonly Alarm[], watch: Duration): void {
  if (alarms.length > MOST_ROLLBACK_ALARMS) {
    throw new Error(`CloudFormation watches at most ${MOST_ROLLBACK_ALARMS} alarms, not ${alarms.length}`);
  }
  if (watch.toSeconds() > 0 && watch.toSeconds() < LEAST_WATCH.toSeconds()) {
    Annotations.of(stack).addWarningV2(
      'freshq:rollback-watch',
      `CloudFormation watches a deployment of ${stack.stackName} for ${watch.toMinutes()} minutes, but the alarms need up to ${LEAST_WATCH.toMinutes()} minutes to fire if the new code fails: broken code may stay deployed. Set rollbackWatch to ${LEAST_WATCH.toMinutes()} minutes or more, or to 0 to watch only during the deployment.`,
    );
  }
  stack.templateOptions.metadata = {
    ...stack.templateOptions.metadata,
    [ROLLBACK_METADATA]: {
      alarms: alarms.map(({ node }) => (node.defaultChild as CfnElement).logicalId),
      minutes: watch.toMinutes(),
    },
  };
}
