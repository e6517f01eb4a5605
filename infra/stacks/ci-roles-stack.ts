import { ArnFormat, Aws, CfnOutput, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import {
  type IOidcProvider,
  OidcProviderNative,
  OpenIdConnectPrincipal,
  PolicyStatement,
  Role,
} from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { CiSettings } from '../ci/ci-settings';

/** Whose tokens are believed, and for whom they must be made. */
const ISSUER = 'token.actions.githubusercontent.com';
const AUDIENCE = 'sts.amazonaws.com';

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
 * stacks, for any pull request of the repository; and one for each environment deploys, for jobs of that GitHub
 * environment alone, by the roles that `cdk bootstrap` made. Once an account: `make bootstrap-ci`.
 *
 * Whoever may push a branch may have a pull request's job say anything, so the first role can read nothing but
 * templates: no table, no queue, no log.
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
    this.allowOnStacks(role, ['cloudformation:DescribeStacks', 'cloudformation:GetTemplate'], OUR_STACKS);
    this.output('DiffRoleArn', role, 'The repository variable AWS_DIFF_ROLE_<environment>');
  }

  private addDeployRole(environment: string): void {
    const role = this.role(
      `deploy-${environment}`,
      `environment:${environment}`,
      `Deploys freshq to ${environment}`,
    );
    const { qualifier } = this.props.settings;
    role.addToPolicy(
      new PolicyStatement({
        actions: ['sts:AssumeRole', 'sts:TagSession'],
        resources: DEPLOYING.map((kind) =>
          this.formatArn({
            service: 'iam',
            region: '',
            resource: 'role',
            resourceName: `cdk-${qualifier}-${kind}-${Aws.ACCOUNT_ID}-${Aws.REGION}`,
          }),
        ),
      }),
    );
    // What is deployed, and the alarms that watch the next deployment.
    const stacks = [`LifoQueue-${environment}`, `AgentQueue-${environment}`];
    this.allowOnStacks(
      role,
      ['cloudformation:DescribeStacks', 'cloudformation:GetTemplate', 'cloudformation:ListStackResources'],
      stacks,
    );
    role.addToPolicy(
      new PolicyStatement({
        actions: ['cloudwatch:DescribeAlarms'],
        // By their names, which begin with the stack's.
        resources: stacks.map((name) =>
          this.formatArn({
            service: 'cloudwatch',
            resource: 'alarm',
            arnFormat: ArnFormat.COLON_RESOURCE_NAME,
            resourceName: `${name}-*`,
          }),
        ),
      }),
    );
    const title = environment.replace(/(^|-)(.)/g, (_, _dash, letter: string) => letter.toUpperCase());
    this.output(
      `DeployRoleArn${title}`,
      role,
      `The variable AWS_DEPLOY_ROLE of the GitHub environment ${environment}`,
    );
  }

  private role(id: string, subject: string, description: string): Role {
    return new Role(this, id, {
      description,
      maxSessionDuration: LONGEST_SESSION,
      assumedBy: new OpenIdConnectPrincipal(this.issuer, {
        StringEquals: {
          [`${ISSUER}:aud`]: AUDIENCE,
          [`${ISSUER}:sub`]: `repo:${this.props.settings.repository}:${subject}`,
        },
      }),
    });
  }

  /** A stack's ARN ends with an id that nobody knows beforehand. */
  private allowOnStacks(role: Role, actions: string[], stacks: readonly string[]): void {
    const resources = stacks.map((name) =>
      this.formatArn({ service: 'cloudformation', resource: 'stack', resourceName: `${name}/*` }),
    );
    role.addToPolicy(new PolicyStatement({ actions, resources }));
  }

  private output(name: string, role: Role, description: string): void {
    new CfnOutput(this, name, { value: role.roleArn, description });
  }
}
