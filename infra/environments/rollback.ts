import { Annotations, type CfnElement, Duration, type Stack } from 'aws-cdk-lib';
import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import type { Problem } from '../lambda/problem';

/** Where the template says it; `delivery/rollback.py` reads it. */
export const ROLLBACK_METADATA = 'freshq:rollback';

/** The most alarms that CloudFormation watches. */
export const MOST_ROLLBACK_ALARMS = 5;

/** CloudFormation watches at most so long (https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_RollbackConfiguration.html). */
const LONGEST_WATCH = Duration.hours(3);

/**
 * How long it takes until the alarms ring on code that fails at once: two sweeps, a minute apart; up to three minutes
 * until CloudWatch has the metrics; a minute until it evaluates them; and one to spare.
 */
export const LEAST_WATCH = Duration.minutes(7);

/** What cannot work about how long a deployment is watched. */
export function watchProblems(watch: Duration): Problem[] {
  const seconds = watch.toSeconds();
  if (seconds % 60 === 0 && seconds <= LONGEST_WATCH.toSeconds()) return [];
  return [
    {
      setting: 'rollbackWatch',
      rule: `CloudFormation cannot watch a deployment for ${watch.toHumanString()}`,
      remedy: `give whole minutes, at most ${LONGEST_WATCH.toMinutes()}, or 0 to watch only while it lasts`,
    },
  ];
}

/**
 * Names in the template the alarms on which CloudFormation rolls a deployment back: those that ring within
 * {@link LEAST_WATCH} when the new code fails, and not those on a slow downstream or on an operator's pause.
 * CloudFormation watches those that exist before the deployment. Synthesis warns of a watch that is too short.
 *
 * @param alarms at most {@link MOST_ROLLBACK_ALARMS}
 * @param watch how long they are watched after the deployment, whole minutes
 */
export function rollBackOn(stack: Stack, alarms: readonly Alarm[], watch: Duration): void {
  if (alarms.length > MOST_ROLLBACK_ALARMS) {
    throw new Error(`CloudFormation watches ${MOST_ROLLBACK_ALARMS} alarms at most, not ${alarms.length}`);
  }
  if (watch.toSeconds() > 0 && watch.toSeconds() < LEAST_WATCH.toSeconds()) {
    Annotations.of(stack).addWarningV2(
      'freshq:rollback-watch',
      `CloudFormation watches a deployment of ${stack.stackName} for ${watch.toMinutes()} minutes, and the alarms need up to ${LEAST_WATCH.toMinutes()} to ring on code that fails: broken code may stay. Set rollbackWatch to ${LEAST_WATCH.toMinutes()} minutes or more, or to 0 to watch only while it lasts.`,
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
