import { ENVIRONMENTS } from '../environments/list';
import { type Problem, refuse } from '../lambda/problem';

/** Who on GitHub may do what in this account. */
export interface CiSettings {
  /**
   * The repository as it stands in the subject of GitHub's tokens: `owner/name`, or with the numbers that GitHub gives
   * repositories made since the summer of 2026, `owner@1234/name@5678`. GitHub tells which:
   * `gh api repos/OWNER/NAME/actions/oidc/customization/sub`
   * (https://docs.github.com/actions/reference/security/oidc#immutable-subject-claims).
   */
  readonly repository: string;
  /** The environments that GitHub may deploy into this account, by the names of `infra/environments/list.ts`. */
  readonly environments: readonly string[];
  /** The branch that is deployed from. The roles trust jobs of this branch alone, by the workflow as it is there. */
  readonly branch: string;
  /**
   * The regions that environments without a `region` of their own are deployed to.
   * @default - the region of the stack of the roles
   */
  readonly regions?: readonly string[];
  /**
   * The ARN of the account's provider for GitHub's tokens. An account has one at most.
   * @default - the stack makes it
   */
  readonly providerArn?: string;
  /**
   * The qualifier that the account was bootstrapped with (`cdk bootstrap --qualifier`).
   * @default hnb659fds - the CDK's own
   */
  readonly qualifier: string;
}

/** Owner and name, each perhaps with its number: nothing that IAM would take for a wildcard. */
const REPOSITORY = /^[A-Za-z0-9][A-Za-z0-9-]*(@\d+)?\/[A-Za-z0-9._-]+(@\d+)?$/;

/** The name of a branch: nothing that IAM would take for a wildcard. */
const BRANCH = /^[A-Za-z0-9._][A-Za-z0-9._/-]*$/;

const REGION = /^[a-z]{2}(-[a-z]+)+-\d$/;

const PROVIDER = /^arn:[a-z-]+:iam::\d{12}:oidc-provider\/token\.actions\.githubusercontent\.com$/;

/**
 * The settings in the CDK context: `repository`, and perhaps `environments` and `regions` (comma-separated), `branch`,
 * `provider` and `qualifier`. Throws, naming every problem at once, if they cannot work.
 *
 * @param context reads one value of the context
 */
export function readCiSettings(context: (key: string) => unknown): CiSettings {
  const given = (key: string, otherwise: string) => String(context(key) ?? otherwise);
  const settings: CiSettings = {
    repository: given('repository', ''),
    environments: given('environments', 'staging,prod').split(','),
    branch: given('branch', 'main'),
    regions: context('regions') === undefined ? undefined : given('regions', '').split(','),
    providerArn: context('provider') === undefined ? undefined : given('provider', ''),
    qualifier: given('qualifier', 'hnb659fds'),
  };
  refuse('The roles for GitHub', ciProblems(settings));
  return settings;
}

/** Every rule the settings break; empty if they can work. */
export function ciProblems(settings: CiSettings): Problem[] {
  const { repository, environments, branch, regions = [], providerArn, qualifier } = settings;
  const problems: Problem[] = [];
  if (!REPOSITORY.test(repository)) {
    problems.push({
      setting: 'repository',
      rule: `"${repository}" is not a repository as GitHub's tokens name it`,
      remedy: 'give owner/name, for example -c repository=octo-org/freshq',
    });
  }
  const known = ENVIRONMENTS.map(({ name }): string => name);
  for (const name of environments.filter((candidate) => !known.includes(candidate))) {
    problems.push({
      setting: 'environments',
      rule: `"${name}" is not an environment`,
      remedy: `choose from ${known.join(', ')}, for example -c environments=staging,prod`,
    });
  }
  if (!BRANCH.test(branch)) {
    problems.push({
      setting: 'branch',
      rule: `"${branch}" is not the name of a branch`,
      remedy: 'give the branch that is deployed from, for example -c branch=main',
    });
  }
  for (const region of regions.filter((candidate) => !REGION.test(candidate))) {
    problems.push({
      setting: 'regions',
      rule: `"${region}" is not an AWS region`,
      remedy: 'give regions such as -c regions=eu-central-1,us-east-1, or leave them out',
    });
  }
  if (providerArn !== undefined && !PROVIDER.test(providerArn)) {
    problems.push({
      setting: 'provider',
      rule: `"${providerArn}" is not the ARN of a provider for token.actions.githubusercontent.com`,
      remedy: 'copy it from `aws iam list-open-id-connect-providers`, or leave it out to have one made',
    });
  }
  if (!/^[a-z0-9]{1,10}$/.test(qualifier)) {
    problems.push({
      setting: 'qualifier',
      rule: `"${qualifier}" is not a qualifier of a CDK bootstrap`,
      remedy: 'choose at most ten small letters and digits, or leave it out',
    });
  }
  return problems;
}
