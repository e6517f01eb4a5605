import { ArnFormat, Aws, CfnOutput, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import {
  type IOidcProvider,
  OidcProviderNative,
  OpenIdConnectPrincipal,
  PolicyStatement,
  Role,
} from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { ENVIRONMENTS } from '../environments/list';
import type { CiSettings } from './ci-settings';
import { readingSettings } from './reading-settings';

/** Issuer and audience of the tokens that the roles accept. */
const ISSUER = 'token.actions.githubusercontent.com';
const AUDIENCE = 'sts.amazonaws.com';

/** Reusable workflow whose jobs deploy the stacks. */
const DEPLOYING_WORKFLOW = '.github/workflows/deploy-environment.yml';

/** Maximum duration of a role session. A diff takes seconds, and a deployment with its rollback watch takes minutes. */
const LONGEST_SESSION = Duration.hours(1);

/** Stack name patterns of all environments, including personal stacks. */
const OUR_STACKS = ['LifoQueue-*', 'AgentQueue-*'];

/** Roles from `cdk bootstrap` that our deployments require. A deployment doesn't publish images or make lookups. */
const DEPLOYING = ['deploy-role', 'file-publishing-role'];

export interface CiRolesStackProps {
  /** Repository, branch and environments that the roles trust. */
  readonly settings: CiSettings;
}

/**
 * Roles that GitHub Actions assumes in this account without long-term credentials. `make bootstrap-ci` deploys this
 * stack once per account.
 *
 * - One role reads our stacks' templates, for any pull request in the repository. A user who can push a branch controls
 *   the pull request's job, so this role can't read any table, queue or log.
 * - One role per environment deploys, through the roles that `cdk bootstrap` created. Only jobs of our workflow that
 *   run on our branch, in that GitHub environment, can assume the role.
 */
export class CiRolesStack extends Stack {
  private readonly issuer: IOidcProvider;

  constructor(
    scope: Construct,
    private readonly props: CiRolesStackProps,
  ) {
    super(scope, 'FreshqCi', {
      description: 'freshq: roles of GitHub Actions in this account',
      terminationProtection: true,
    });
    const { providerArn, environments } = props.settings;
    this.issuer =
      providerArn === undefined
        ? new OidcProviderNative(this, 'github', {
            url: `https://${ISSUER}`,
            clientIds: [AUDIENCE],
            // Retained on deletion, because other roles in the account might trust it by then. Deleted after a failed
            // creation, because no role can trust it yet.
            removalPolicy: RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
          })
        : OidcProviderNative.fromOidcProviderArn(this, 'github', providerArn);
    this.addDiffRole();
    for (const environment of environments) this.addDeployRole(environment);
  }

  private addDiffRole(): void {
    const role = this.role('diff', 'pull_request', 'Reads the templates of freshq, for pull requests');
    const regions = new Set(this.props.settings.environments.flatMap((name) => this.regionsOf(name)));
    this.allowOnStacks(role, ['cloudformation:DescribeStacks', 'cloudformation:GetTemplate'], OUR_STACKS, [
      ...regions,
    ]);
    this.output('DiffRoleArn', role, 'The repository variable AWS_DIFF_ROLE_<environment>');
  }

  private addDeployRole(environment: string): void {
    const role = this.role(
      `deploy-${environment}`,
      `environment:${environment}`,
      `Deploys freshq to ${environment}`,
      this.deployingJobs(),
    );
    const { qualifier } = this.props.settings;
    const regions = this.regionsOf(environment);
    role.addToPolicy(
      new PolicyStatement({
        actions: ['sts:AssumeRole', 'sts:TagSession'],
        resources: regions.flatMap((region) =>
          DEPLOYING.map((kind) =>
            this.formatArn({
              service: 'iam',
              region: '',
              resource: 'role',
              resourceName: `cdk-${qualifier}-${kind}-${Aws.ACCOUNT_ID}-${region}`,
            }),
          ),
        ),
      }),
    );
    // Allows reading the deployed templates and the alarms that can roll back the next deployment.
    const stacks = [`LifoQueue-${environment}`, `AgentQueue-${environment}`];
    this.allowOnStacks(
      role,
      ['cloudformation:DescribeStacks', 'cloudformation:GetTemplate', 'cloudformation:ListStackResources'],
      stacks,
      regions,
    );
    role.addToPolicy(
      new PolicyStatement({
        actions: ['cloudwatch:DescribeAlarms'],
        // Alarm names start with the stack name.
        resources: regions.flatMap((region) =>
          stacks.map((name) =>
            this.formatArn({
              service: 'cloudwatch',
              region,
              resource: 'alarm',
              arnFormat: ArnFormat.COLON_RESOURCE_NAME,
              resourceName: `${name}-*`,
            }),
          ),
        ),
      }),
    );
    for (const statement of readingSettings(this, stacks, regions)) role.addToPolicy(statement);
    const title = environment.replace(/(^|-)(.)/g, (_, _dash, letter: string) => letter.toUpperCase());
    this.output(
      `DeployRoleArn${title}`,
      role,
      `The variable AWS_DEPLOY_ROLE of the GitHub environment ${environment}`,
    );
  }

  /**
   * Returns conditions that accept only jobs of the branch's version of {@link DEPLOYING_WORKFLOW}, started from that
   * branch. If they checked only the subject, any branch could deploy with a workflow that names the environment. STS
   * has supported these GitHub claims since 2026
   * (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_iam-condition-keys.html#condition-keys-wif).
   */
  private deployingJobs(): Record<string, string> {
    const { repository, branch } = this.props.settings;
    const ref = `refs/heads/${branch}`;
    // Only the subject contains the owner and repository numbers.
    const name = repository.replace(/@\d+/g, '');
    return {
      [`${ISSUER}:ref`]: ref,
      [`${ISSUER}:job_workflow_ref`]: `${name}/${DEPLOYING_WORKFLOW}@${ref}`,
    };
  }

  /** Returns the regions to which an environment is deployed. */
  private regionsOf(environment: string): readonly string[] {
    const own = ENVIRONMENTS.find(({ name }) => name === environment)?.region;
    return own === undefined ? (this.props.settings.regions ?? [Aws.REGION]) : [own];
  }

  private role(id: string, subject: string, description: string, claims: Record<string, string> = {}): Role {
    return new Role(this, id, {
      description,
      maxSessionDuration: LONGEST_SESSION,
      assumedBy: new OpenIdConnectPrincipal(this.issuer, {
        StringEquals: {
          [`${ISSUER}:aud`]: AUDIENCE,
          [`${ISSUER}:sub`]: `repo:${this.props.settings.repository}:${subject}`,
          ...claims,
        },
      }),
    });
  }

  /**
   * Allows actions on stacks. A stack ARN ends with an id that is unknown before creation, so the id is `*` here.
   */
  private allowOnStacks(
    role: Role,
    actions: string[],
    stacks: readonly string[],
    regions: readonly string[],
  ): void {
    const resources = regions.flatMap((region) =>
      stacks.map((name) =>
        this.formatArn({
          service: 'cloudformation',
          region,
          resource: 'stack',
          resourceName: `${name}/*`,
        }),
      ),
    );
    role.addToPolicy(new PolicyStatement({ actions, resources }));
  }

  private output(name: string, role: Role, description: string): void {
    new CfnOutput(this, name, { value: role.roleArn, description });
  }
}
