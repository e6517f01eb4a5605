import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import { agentSettingsProblems } from '../agents/rules';
import { resolveAgentSettings } from '../agents/settings';
import { type Problem, problemIf, reject } from '../shared/problem';
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
 * Returns the environments to synthesize: the named environment or all. If a personal name is given, returns personal
 * copies. Throws an error with all problems if an environment is invalid.
 *
 * @param name CDK context value `env`
 * @param personal CDK context value `name`
 */
export function chooseEnvironments(
  name: unknown,
  environments: readonly Environment[] = ENVIRONMENTS,
  personal?: unknown,
): readonly Environment[] {
  reject('The context value env', nameProblems(name, environments));
  const chosen =
    name === undefined ? environments : environments.filter((environment) => environment.name === name);
  reject('The context value name', personalProblems(personal, chosen, name !== undefined));
  reject(
    'The configuration in infra/environments/list.ts',
    environments.flatMap((environment) => [
      ...prefixed(environment, ownNameProblems(environment, environments)),
      ...environmentProblems(environment),
    ]),
  );
  return personal === undefined ? chosen : chosen.map((each) => personalized(each, String(personal)));
}

/** Returns the problems with an environment, or an empty list if it is valid. */
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
  return [
    ...problemIf(
      account !== undefined && !/^\d{12}$/.test(account),
      'account',
      `"${account}" is not an AWS account ID`,
      'give the twelve digits of the id as a string, or omit it',
    ),
    ...problemIf(
      region !== undefined && !/^[a-z]{2}(-[a-z]+)+-\d$/.test(region),
      'region',
      `"${region}" is not an AWS region`,
      'give a region such as eu-central-1, or omit it',
    ),
  ];
}

function protectionProblems(environment: Environment): Problem[] {
  const { removalPolicy, deletionProtection, terminationProtection, pointInTimeRecovery } = environment;
  const missing = [
    removalPolicy === RemovalPolicy.DESTROY && 'removalPolicy RETAIN',
    !deletionProtection && 'deletionProtection',
    !terminationProtection && 'terminationProtection',
    !pointInTimeRecovery && 'pointInTimeRecovery',
  ].filter((protection) => protection !== false);
  return [
    ...problemIf(
      deletionProtection && removalPolicy === RemovalPolicy.DESTROY,
      'removalPolicy',
      'DESTROY conflicts with deletionProtection: stack deletion would fail at the table',
      'use RETAIN, or disable deletionProtection',
    ),
    ...problemIf(
      environment.name === 'prod' && missing.length > 0,
      'deletionProtection',
      `prod lacks ${missing.join(', ')}, so one command could delete its tasks`,
      'enable every protection in prod',
    ),
  ];
}

function simulationOutsideProdProblems({ name, simulation, runner }: Environment): Problem[] {
  if (name !== 'prod') return [];
  return [
    ...problemIf(
      simulation !== undefined,
      'simulation',
      'simulated tasks would mix with real tasks',
      'omit simulation in prod',
    ),
    ...problemIf(
      runner.kind === 'simulated',
      'runner',
      'the simulated runner would settle real tasks as SUCCESS without running them',
      'use a runner of kind http in prod, or build your own LifoQueue with TaskRunner.lambda or .rust',
    ),
  ];
}

function agentQueueProblems({ name, agentQueue: { seed, settings } }: Environment): Problem[] {
  const problems = [
    ...agentSettingsProblems(resolveAgentSettings(settings ?? {})),
    ...problemIf(
      name === 'prod' && seed,
      'seed',
      'calls would be assigned to sample agents, which do not exist',
      'set seed to false in prod',
    ),
  ];
  return problems.map((problem) => ({ ...problem, setting: `agentQueue.${problem.setting}` }));
}

function runnerProblems({ runner, settings }: Environment): Problem[] {
  if (runner.kind === 'simulated') return simulatedRunner(runner)._problems(resolveSettings(settings ?? {}));
  const { url, auth } = runner;
  if (auth === undefined) return urlProblems(url);
  return [
    ...urlProblems(url),
    ...(auth.headerName === undefined ? [] : headerNameProblems(auth.headerName)),
    ...problemIf(
      !/^arn:[a-z-]+:secretsmanager:[a-z0-9-]+:\d{12}:secret:.+-[A-Za-z0-9]{6}$/.test(auth.secretArn),
      'runner.auth.secretArn',
      `"${auth.secretArn}" is not the complete ARN of a secret`,
      'copy it from Secrets Manager, with the six characters at its end',
    ),
  ];
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
  return problemIf(
    region !== undefined && region !== topicRegion,
    setting,
    `alarms in ${region} cannot publish to a topic in ${topicRegion}`,
    `use a topic in ${region}`,
  );
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
  return [
    ...problems,
    ...problemIf(
      alarmEmails.length > 0 && alarmTopicArn !== undefined,
      setting,
      'alarms publish to one topic, and alarmTopicArn names another',
      'omit alarmEmails and subscribe the addresses to that topic, or omit alarmTopicArn',
    ),
  ];
}

function eventBusProblems({ taskEventBus }: Environment): Problem[] {
  // A partner bus name contains "/". Such a bus accepts only the partner's events.
  return problemIf(
    taskEventBus !== undefined && !/^[\w.-]{1,256}$/.test(taskEventBus),
    'taskEventBus',
    `"${taskEventBus}" is not the name of an event bus to which the queue can publish`,
    'give the name of a bus in the account and region of the stack, such as default, or omit it',
  );
}

export function simulatedRunner(config: Extract<RunnerConfig, { kind: 'simulated' }>): SimulatedRunner {
  const { capacity, durationSeconds, rates } = config;
  const duration = durationSeconds === undefined ? undefined : Duration.seconds(durationSeconds);
  return new SimulatedRunner({ capacity, duration, rates });
}
