import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { agentSettingsProblems } from '../agents/rules';
import { resolveAgentSettings } from '../agents/settings';
import { type Problem, refuse } from '../lambda/problem';
import { loadProblems, simulationProblems } from '../tasks/load-rules';
import { settingsProblems } from '../tasks/rules';
import { urlProblems } from '../tasks/runners/http';
import { headerNameProblems } from '../tasks/runners/http-auth';
import { SimulatedRunner } from '../tasks/runners/simulated';
import { resolveSettings } from '../tasks/settings';
import { isEmail } from './alarm-topic';
import { ENVIRONMENTS, type Environment, type RunnerConfig } from './list';
import { nameProblems, ownNameProblems, personalized, personalProblems } from './names';
import { watchProblems } from './rollback';
import { tagProblems } from './tags';

/**
 * The environments to synthesize: the named one, or all; as a personal copy if a personal name is given. Throws with
 * every problem at once if one cannot work.
 *
 * @param name the CDK context value `env`
 * @param personal the CDK context value `name`
 */
export function chooseEnvironments(
  name: unknown,
  environments: readonly Environment[] = ENVIRONMENTS,
  personal?: unknown,
): readonly Environment[] {
  refuse('The context value env', nameProblems(name, environments));
  const chosen =
    name === undefined ? environments : environments.filter((environment) => environment.name === name);
  refuse('The context value name', personalProblems(personal, chosen, name !== undefined));
  refuse(
    'The configuration in infra/environments/list.ts',
    environments.flatMap((environment) => [
      ...prefixed(environment, ownNameProblems(environment, environments)),
      ...environmentProblems(environment),
    ]),
  );
  return personal === undefined ? chosen : chosen.map((each) => personalized(each, String(personal)));
}

/** Every rule an environment breaks; empty if it can work. */
export function environmentProblems(environment: Environment): Problem[] {
  const problems = [
    ...placeProblems(environment),
    ...protectionProblems(environment),
    ...simulationOutsideProdProblems(environment),
    ...settingsProblems(resolveSettings(environment.settings ?? {})),
    ...runnerProblems(environment),
    ...simulationProblems(environment.simulation?.load),
    ...loadProblems(environment.expectedTasksPerSecond),
    ...alarmTopicArnProblems(environment),
    ...alarmEmailProblems(environment),
    ...eventBusProblems(environment),
    ...watchProblems(environment.rollbackWatch),
    ...tagProblems(environment),
    ...agentQueueProblems(environment),
  ];
  return prefixed(environment, problems);
}

function prefixed({ name }: Environment, problems: readonly Problem[]): Problem[] {
  return problems.map((problem) => ({ ...problem, setting: `${name}.${problem.setting}` }));
}

function placeProblems({ account, region }: Environment): Problem[] {
  const problems: Problem[] = [];
  if (account !== undefined && !/^\d{12}$/.test(account)) {
    problems.push({
      setting: 'account',
      rule: `"${account}" is not an AWS account`,
      remedy: 'give its twelve digits as a string, or leave it out',
    });
  }
  if (region !== undefined && !/^[a-z]{2}(-[a-z]+)+-\d$/.test(region)) {
    problems.push({
      setting: 'region',
      rule: `"${region}" is not an AWS region`,
      remedy: 'give a region such as eu-central-1, or leave it out',
    });
  }
  return problems;
}

function protectionProblems(environment: Environment): Problem[] {
  const problems: Problem[] = [];
  const { removalPolicy, deletionProtection, terminationProtection, pointInTimeRecovery } = environment;
  if (deletionProtection && removalPolicy === RemovalPolicy.DESTROY) {
    problems.push({
      setting: 'removalPolicy',
      rule: 'DESTROY with deletionProtection cannot work: deleting the stack would fail at the table',
      remedy: 'use RETAIN, or switch deletionProtection off',
    });
  }
  if (environment.name === 'prod') {
    const missing = [
      removalPolicy === RemovalPolicy.DESTROY && 'removalPolicy RETAIN',
      !deletionProtection && 'deletionProtection',
      !terminationProtection && 'terminationProtection',
      !pointInTimeRecovery && 'pointInTimeRecovery',
    ].filter((protection) => protection !== false);
    if (missing.length > 0) {
      problems.push({
        setting: 'deletionProtection',
        rule: `prod lacks ${missing.join(', ')}, and its tasks could be lost by one command`,
        remedy: 'switch every protection on in prod',
      });
    }
  }
  return problems;
}

function simulationOutsideProdProblems({ name, simulation, runner }: Environment): Problem[] {
  if (name !== 'prod') return [];
  const problems: Problem[] = [];
  if (simulation !== undefined) {
    problems.push({
      setting: 'simulation',
      rule: 'made-up tasks would mix with real ones',
      remedy: 'leave simulation out in prod',
    });
  }
  if (runner.kind === 'simulated') {
    problems.push({
      setting: 'runner',
      rule: 'the simulated runner only pretends, and would mark real tasks SUCCESS without doing them',
      remedy:
        'use a runner of kind http in prod, or build a LifoQueue of your own with TaskRunner.lambda or .rust',
    });
  }
  return problems;
}

function agentQueueProblems({ name, agentQueue: { seed, settings } }: Environment): Problem[] {
  const problems = agentSettingsProblems(resolveAgentSettings(settings ?? {}));
  if (name === 'prod' && seed) {
    problems.push({
      setting: 'seed',
      rule: 'calls would be assigned to sample agents, which do not exist',
      remedy: 'set seed to false in prod',
    });
  }
  return problems.map((problem) => ({ ...problem, setting: `agentQueue.${problem.setting}` }));
}

function runnerProblems({ runner, settings }: Environment): Problem[] {
  if (runner.kind === 'simulated') return simulatedRunner(runner).problems(resolveSettings(settings ?? {}));
  const problems = urlProblems(runner.url);
  if (runner.auth !== undefined) {
    const { headerName, secretArn } = runner.auth;
    if (headerName !== undefined) problems.push(...headerNameProblems(headerName));
    if (!/^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:\d{12}:secret:.+-[A-Za-z0-9]{6}$/.test(secretArn)) {
      problems.push({
        setting: 'runner.auth.secretArn',
        rule: `"${secretArn}" is not the whole ARN of a secret`,
        remedy: 'copy it from Secrets Manager, with the six characters at its end',
      });
    }
  }
  return problems;
}

function alarmTopicArnProblems({ alarmTopicArn, region }: Environment): Problem[] {
  if (alarmTopicArn === undefined) return [];
  const setting = 'alarmTopicArn';
  const [, topicRegion] = /^arn:[a-z-]+:sns:([a-z0-9-]+):\d{12}:[\w-]{1,256}$/.exec(alarmTopicArn) ?? [];
  if (topicRegion === undefined) {
    return [
      {
        setting,
        rule: `"${alarmTopicArn}" is not the ARN of a standard SNS topic`,
        remedy: 'copy it from SNS, for example arn:aws:sns:eu-central-1:123456789012:on-call',
      },
    ];
  }
  if (region === undefined || region === topicRegion) return [];
  return [
    {
      setting,
      rule: `alarms in ${region} cannot publish to a topic in ${topicRegion}`,
      remedy: `use a topic in ${region}`,
    },
  ];
}

function alarmEmailProblems({ alarmEmails = [], alarmTopicArn }: Environment): Problem[] {
  const setting = 'alarmEmails';
  const problems = alarmEmails
    .filter((address) => !isEmail(address))
    .map((address) => ({
      setting,
      rule: `"${address}" is not an email address`,
      remedy: 'give addresses such as on-call@example.com',
    }));
  if (alarmEmails.length > 0 && alarmTopicArn !== undefined) {
    problems.push({
      setting,
      rule: 'alarms go to one topic, and alarmTopicArn names another',
      remedy: 'leave one of the two out, or subscribe the addresses to that topic',
    });
  }
  return problems;
}

function eventBusProblems({ taskEventBus }: Environment): Problem[] {
  // A bus of a partner has a "/" in its name, and takes the partner's events only.
  if (taskEventBus === undefined || /^[\w.-]{1,256}$/.test(taskEventBus)) return [];
  return [
    {
      setting: 'taskEventBus',
      rule: `"${taskEventBus}" is not the name of an event bus of yours`,
      remedy:
        'give the name of a bus in the account and region of the stack, such as default, or leave it out',
    },
  ];
}

/** The simulated runner of a configuration. */
export function simulatedRunner(config: Extract<RunnerConfig, { kind: 'simulated' }>): SimulatedRunner {
  const { capacity, durationSeconds, rates } = config;
  const duration = durationSeconds === undefined ? undefined : Duration.seconds(durationSeconds);
  return new SimulatedRunner({ capacity, duration, rates });
}
