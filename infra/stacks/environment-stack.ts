import { Annotations, CfnOutput, Stack, Tags } from 'aws-cdk-lib';
import type { Alarm } from 'aws-cdk-lib/aws-cloudwatch';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { AlarmTopic } from '../environments/alarm-topic';
import type { Environment } from '../environments/list';
import { stackSuffix } from '../environments/names';
import { rollBackOn } from '../environments/rollback';
import { NO_ALARM_TOPIC } from '../shared/alarms/alarm-topic';
import type { IQueueObservability } from '../shared/queue-parts';

export interface EnvironmentStackProps {
  readonly environment: Environment;
}

/** Base class of an environment's stacks: account and region, name, tags, alarm topic and rollback. */
export abstract class EnvironmentStack extends Stack {
  private readonly environmentSettings: Environment;

  /**
   * @param kind first part of the stack name
   * @param purpose purpose of the stack, for its description
   */
  constructor(scope: Construct, kind: string, purpose: string, { environment }: EnvironmentStackProps) {
    const suffix = stackSuffix(environment);
    super(scope, `${kind}-${suffix}`, {
      env: { account: environment.account, region: environment.region },
      description: `freshq: ${purpose} (${suffix})`,
      terminationProtection: environment.terminationProtection,
    });
    this.environmentSettings = environment;
    Annotations.of(this).acknowledgeWarning(
      NO_ALARM_TOPIC,
      'alarmTopic() warns if the environment is protected',
    );
    for (const [key, value] of Object.entries(environment.tags)) Tags.of(this).add(key, value);
  }

  /**
   * Topic that alarms publish to, if there is one. If a protected environment has none, synthesis prints a warning, and
   * the deployment is rejected (`delivery/configured.py`).
   */
  protected alarmTopic(): ITopic | undefined {
    const {
      name,
      alarmTopicArn,
      alarmEmails = [],
      terminationProtection,
      deletionProtection,
    } = this.environmentSettings;
    if (alarmTopicArn !== undefined) return Topic.fromTopicArn(this, 'alarm-topic', alarmTopicArn);
    if (alarmEmails.length > 0) return new AlarmTopic(this, 'alarm-topic', { emails: alarmEmails }).topic;
    if (terminationProtection || deletionProtection) {
      Annotations.of(this).addWarningV2(
        'freshq:alarms-unheard',
        `the alarms of ${this.stackName} have no recipient, so make deploy rejects the stack: set alarmEmails or alarmTopicArn of ${name} in infra/environments/list.ts`,
      );
    }
    return undefined;
  }

  /** Adds a stack output with the URL of the queue's dashboard, if there is one. */
  protected addDashboardUrl({ dashboardUrl }: IQueueObservability, output: string): void {
    if (dashboardUrl === undefined) return;
    new CfnOutput(this, output, {
      value: dashboardUrl,
      description: "The queue's dashboard in the console",
    });
  }

  /**
   * Makes CloudFormation roll back a deployment if one of these alarms fires.
   *
   * @param ids alarm ids without the suffix `-alarm`
   */
  protected rollBackOn(alarms: readonly Alarm[], ids: readonly string[]): void {
    const watched = ids.map((id) => {
      const alarm = alarms.find(({ node }) => node.id === `${id}-alarm`);
      if (alarm === undefined) throw new Error(`${this.stackName} has no alarm ${id}`);
      return alarm;
    });
    rollBackOn(this, watched, this.environmentSettings.rollbackWatch);
  }
}
