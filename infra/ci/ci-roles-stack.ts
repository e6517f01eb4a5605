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

/** Whose tokens are believed, and for whom they must be made. */
const ISSUER = 'token.actions.githubusercontent.com';
const AUDIENCE = 'sts.amazonaws.com';

/** The reusable workflow whose jobs deploy. */
const DEPLOYING_WORKFLOW = '.github/workflows/deploy-environment.yml';

/** A diff takes seconds, a deployment with its watch over alarms minutes. */
const LONGEST_SESSION = Duration.hours(1);

/** The stacks of an environment, personal ones among them. */
const OUR_STACKS = ['LifoQueue-*', 'AgentQueue-*'];

/** What `cdk deploy` of this package needs of the bootstrap's roles: no images, no lookups. */
const DEPLOYING = ['deploy-role', 'file-publishing-role'];

/** Props of {@link CiRolesStack}. */
export interface CiRolesStackProps {
  /** Who may do what. */
  readonly settings: CiSettings;
}

/**
 * The roles that GitHub Actions takes on in this account, without any stored key: one reads the templates of our
 * stacks, for any pull request of the repository; and one for each environment deploys, by the roles that
 * `cdk bootstrap` made: for jobs of that GitHub environment alone, run by our workflow on our branch. Once an account:
 * `make bootstrap-ci`.
 *
 * A user who may push a branch controls the job of a pull request. So the first role can read templates only: no
 * table, no queue, no log.
 */
export class CiRolesStack extends Stack {
  private readonly issuer: IOidcProvider;

  constructor(
    scope: Construct,
    private readonly props: CiRolesStackProps,
  ) {
    super(scope, 'FreshqCi', {
      description: 'freshq: what GitHub Actions may do in this account',
      terminationProtection: true,
    });
    const { providerArn, environments } = props.settings;
    this.issuer =
      providerArn === undefined
        ? new OidcProviderNative(this, 'github', {
            url: `https://${ISSUER}`,
            clientIds: [AUDIENCE],
            // Other roles of the account may trust it by now; after a failed creation, none can.
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
    // What is deployed, and the alarms that watch the next deployment.
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
        // By their names, which begin with the stack's.
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
   * Only jobs of {@link DEPLOYING_WORKFLOW} as it is on the branch, started from that branch. The subject alone would let
   * any branch in that names the environment in a workflow of its own. STS compares these claims of GitHub since 2026
   * (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_iam-condition-keys.html#condition-keys-wif).
   */
  private deployingJobs(): Record<string, string> {
    const { repository, branch } = this.props.settings;
    const ref = `refs/heads/${branch}`;
    // The numbers are in the subject only.
    const name = repository.replace(/@\d+/g, '');
    return {
      [`${ISSUER}:ref`]: ref,
      [`${ISSUER}:job_workflow_ref`]: `${name}/${DEPLOYING_WORKFLOW}@${ref}`,
    };
  }

  /** Where an environment is deployed to. */
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

  /** A stack's ARN ends with an id that is unknown before its creation. */
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
