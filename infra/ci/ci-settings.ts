import { ENVIRONMENTS } from '../environments/list';
import { type Problem, problemIf, reject } from '../shared/problem';

/** Settings for the GitHub Actions roles. */
export interface CiSettings {
  /**
   * The repository as it appears in the subject of GitHub's tokens: `owner/name`. Repositories created since the summer
   * of 2026 have numbers: `owner@1234/name@5678`. `gh api repos/OWNER/NAME/actions/oidc/customization/sub` shows which
   * form applies (https://docs.github.com/actions/reference/security/oidc#immutable-subject-claims).
   */
  readonly repository: string;
  /** Names of the environments that GitHub can deploy to this account, as in `infra/environments/list.ts`. */
  readonly environments: readonly string[];
  /** Branch to deploy. The roles trust only jobs on this branch that use the branch's version of the workflow. */
  readonly branch: string;
  /**
   * Regions to which environments without their own `region` are deployed.
   * @default - the region of the roles' stack
   */
  readonly regions?: readonly string[];
  /**
   * ARN of the account's OIDC provider for GitHub's tokens. An account can have only one.
   * @default - the stack creates it
   */
  readonly providerArn?: string;
  /**
   * Qualifier used to bootstrap the account (`cdk bootstrap --qualifier`).
   * @default hnb659fds - the CDK's default
   */
  readonly qualifier: string;
}

/** Pattern of a repository's owner and name, each optionally with a number. It excludes IAM wildcards. */
const REPOSITORY = /^[A-Za-z0-9][A-Za-z0-9-]*(@\d+)?\/[A-Za-z0-9._-]+(@\d+)?$/;

/** Pattern of branch names. It excludes IAM wildcards. */
const BRANCH = /^[A-Za-z0-9._][A-Za-z0-9._/-]*$/;

const REGION = /^[a-z]{2}(-[a-z]+)+-\d$/;

const PROVIDER = /^arn:[a-z-]+:iam::\d{12}:oidc-provider\/token\.actions\.githubusercontent\.com$/;

/**
 * Reads the settings from the CDK context: `repository`, and optionally `environments` and `regions` (comma-separated),
 * `branch`, `provider` and `qualifier`. Throws an error with all problems if the settings are invalid.
 *
 * @param context returns a context value by key
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
  reject('The roles for GitHub', ciProblems(settings));
  return settings;
}

/** Returns the problems with the settings, or an empty list if they are valid. */
export function ciProblems(settings: CiSettings): Problem[] {
  const { repository, environments, branch, regions = [], providerArn, qualifier } = settings;
  const known = ENVIRONMENTS.map(({ name }): string => name);
  return [
    ...problemIf(
      !REPOSITORY.test(repository),
      'repository',
      `"${repository}" is not a repository in the form of GitHub's tokens`,
      'give owner/name, for example -c repository=octo-org/freshq',
    ),
    ...environments.flatMap((name) =>
      problemIf(
        !known.includes(name),
        'environments',
        `"${name}" is not an environment`,
        `choose from ${known.join(', ')}, for example -c environments=staging,prod`,
      ),
    ),
    ...problemIf(
      !BRANCH.test(branch),
      'branch',
      `"${branch}" is not the name of a branch`,
      'give the branch that GitHub deploys, for example -c branch=main',
    ),
    ...regions.flatMap((region) =>
      problemIf(
        !REGION.test(region),
        'regions',
        `"${region}" is not an AWS region`,
        'give regions such as -c regions=eu-central-1,us-east-1, or omit them',
      ),
    ),
    ...problemIf(
      providerArn !== undefined && !PROVIDER.test(providerArn),
      'provider',
      `"${providerArn}" is not the ARN of an OIDC provider for token.actions.githubusercontent.com`,
      'copy it from `aws iam list-open-id-connect-providers`, or omit it so that the stack creates one',
    ),
    ...problemIf(
      !/^[a-z0-9]{1,10}$/.test(qualifier),
      'qualifier',
      `"${qualifier}" is not a qualifier of cdk bootstrap`,
      'give 1 to 10 lowercase letters and digits, or omit it',
    ),
  ];
}
