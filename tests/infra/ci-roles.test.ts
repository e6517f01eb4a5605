import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Validations } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { CiRolesStack } from '../../infra/ci/ci-roles-stack';
import { type CiSettings, ciProblems, readCiSettings } from '../../infra/ci/ci-settings';
import { newApp, ROOT } from './synthesis';

const SETTINGS: CiSettings = {
  repository: 'octo-org/freshq',
  environments: ['staging', 'prod'],
  branch: 'main',
  qualifier: 'hnb659fds',
};
const ISSUER = 'token.actions.githubusercontent.com';

function ciRoles(changes: Partial<CiSettings> = {}): Template {
  return Template.fromStack(new CiRolesStack(newApp(), { settings: { ...SETTINGS, ...changes } }));
}

interface Role {
  readonly subject: string;
  /** Other required claims of a token, with their values. */
  readonly claims: Readonly<Record<string, string>>;
  readonly statements: readonly { readonly Action: string | string[]; readonly Resource: unknown }[];
}

/** Returns the roles, by the suffix of the subject that they trust. */
function roles(template: Template): Map<string, Role> {
  const policies = Object.values(template.findResources('AWS::IAM::Policy'));
  return new Map(
    Object.entries(template.findResources('AWS::IAM::Role')).map(([id, { Properties }]) => {
      const [trust, ...more] = Properties.AssumeRolePolicyDocument.Statement;
      expect(more).toEqual([]);
      expect(trust.Action).toBe('sts:AssumeRoleWithWebIdentity');
      const {
        [`${ISSUER}:aud`]: audience,
        [`${ISSUER}:sub`]: subject,
        ...others
      } = trust.Condition.StringEquals;
      const claims = Object.fromEntries(
        Object.entries<string>(others).map(([key, value]) => [key.replace(`${ISSUER}:`, ''), value]),
      );
      expect(Object.keys(trust.Condition)).toEqual(['StringEquals']);
      expect(audience).toBe('sts.amazonaws.com');
      const statements = policies
        .filter((policy) => policy.Properties.Roles.some(({ Ref }: { Ref: string }) => Ref === id))
        .flatMap((policy) => policy.Properties.PolicyDocument.Statement);
      return [subject.split(':').slice(2).join(':'), { subject, claims, statements }];
    }),
  );
}

function resourcesOf(statement: { readonly Resource: unknown } | undefined): string {
  return JSON.stringify(statement?.Resource);
}

describe('the roles', () => {
  const template = ciRoles();
  const all = roles(template);

  test('consist of one for pull requests and one per environment', () => {
    expect([...all.values()].map(({ subject }) => subject)).toEqual([
      'repo:octo-org/freshq:pull_request',
      'repo:octo-org/freshq:environment:staging',
      'repo:octo-org/freshq:environment:prod',
    ]);
  });

  test.each(['staging', 'prod'])('%s is deployed only from main, with the workflow on main', (name) => {
    expect(all.get(`environment:${name}`)?.claims).toEqual({
      ref: 'refs/heads/main',
      job_workflow_ref: 'octo-org/freshq/.github/workflows/deploy-environment.yml@refs/heads/main',
    });
    const workflow = readFileSync(join(ROOT, '.github', 'workflows', 'deploy-environment.yml'), 'utf8');
    expect(workflow).toMatch(/role-to-assume: \$\{\{ vars\.AWS_DEPLOY_ROLE \}\}/);
    expect(all.get('pull_request')?.claims).toEqual({});
  });

  test('trust the configured branch and omit repository numbers where GitHub does', () => {
    const own = roles(ciRoles({ repository: 'octo-org@12/freshq@345', branch: 'release/1.x' }));
    expect(own.get('environment:prod')?.claims).toEqual({
      ref: 'refs/heads/release/1.x',
      job_workflow_ref: 'octo-org/freshq/.github/workflows/deploy-environment.yml@refs/heads/release/1.x',
    });
  });

  test("apply to their stack's region or to the configured regions", () => {
    const regional = (template: Template) =>
      [...roles(template).values()].flatMap(({ statements }) => statements.map(resourcesOf)).join();
    expect(regional(template)).toContain('"Ref":"AWS::Region"');
    const given = regional(ciRoles({ regions: ['eu-central-1', 'us-east-1'] }));
    expect(given).not.toContain('AWS::Region');
    for (const region of ['eu-central-1', 'us-east-1']) {
      expect(given).toMatch(new RegExp(`-file-publishing-role-[^\\]]*-${region}"`));
      expect(given).toContain(`:cloudformation:${region}:`);
      expect(given).toContain(`:cloudwatch:${region}:`);
    }
  });

  test('allow pull requests to read the templates of our stacks and nothing else', () => {
    const statements = all.get('pull_request')?.statements ?? [];
    expect(statements.map(({ Action }) => Action)).toEqual([
      ['cloudformation:DescribeStacks', 'cloudformation:GetTemplate'],
    ]);
    expect(resourcesOf(statements[0])).toMatch(/:stack\/LifoQueue-\*\/\*.*:stack\/AgentQueue-\*\/\*/);
  });

  test.each(['staging', 'prod'])(
    'include one for %s that can assume two bootstrap roles and read its own stacks',
    (name) => {
      const statements = all.get(`environment:${name}`)?.statements ?? [];
      expect(statements.map(({ Action }) => Action)).toEqual([
        ['sts:AssumeRole', 'sts:TagSession'],
        ['cloudformation:DescribeStacks', 'cloudformation:GetTemplate', 'cloudformation:ListStackResources'],
        'cloudwatch:DescribeAlarms',
        [
          'lambda:GetFunctionConcurrency',
          'lambda:GetFunctionConfiguration',
          'lambda:GetFunctionRecursionConfig',
        ],
        'lambda:GetEventSourceMapping',
        'scheduler:GetSchedule',
        ['dynamodb:DescribeContinuousBackups', 'dynamodb:DescribeTable', 'dynamodb:DescribeTimeToLive'],
      ]);
      const settings = statements.slice(3).map(resourcesOf);
      expect(settings[0]).toContain(`:function:LifoQueue-${name}-*`);
      expect(settings[2]).toContain(`:schedule/default/AgentQueue-${name}-*`);
      expect(settings[3]).toContain(`:table/AgentQueue-${name}-*`);
      const { Condition } = statements[4] as { Condition?: unknown };
      expect(JSON.stringify(Condition)).toContain(`:function:AgentQueue-${name}-*`);
      const assumed = resourcesOf(statements[0]);
      expect(assumed).toMatch(/role\/cdk-hnb659fds-deploy-role-.*role\/cdk-hnb659fds-file-publishing-role-/);
      expect(assumed).not.toContain('*');
      expect(resourcesOf(statements[1])).toContain(`:stack/LifoQueue-${name}/*`);
      expect(resourcesOf(statements[1])).not.toContain('Queue-*');
      expect(resourcesOf(statements[2])).toContain(`:alarm:LifoQueue-${name}-*`);
    },
  );

  test('are in the outputs', () => {
    expect(Object.keys(template.findOutputs('*'))).toEqual([
      'DiffRoleArn',
      'DeployRoleArnStaging',
      'DeployRoleArnProd',
    ]);
  });

  test('support a custom qualifier and a subject with numbers', () => {
    const other = roles(
      ciRoles({ repository: 'octo-org@12/freshq@345', qualifier: 'team1', environments: ['prod'] }),
    );
    expect(other.get('environment:prod')?.subject).toBe('repo:octo-org@12/freshq@345:environment:prod');
    expect(resourcesOf(other.get('environment:prod')?.statements[0])).toContain('cdk-team1-deploy-role-');
    expect(other.size).toBe(2);
  });
});

test('the provider is created and retained with the stack, or an existing one is used', () => {
  ciRoles().hasResource('AWS::IAM::OIDCProvider', {
    DeletionPolicy: 'RetainExceptOnCreate',
    Properties: { Url: `https://${ISSUER}`, ClientIdList: ['sts.amazonaws.com'] },
  });
  const providerArn = `arn:aws:iam::123456789012:oidc-provider/${ISSUER}`;
  const template = ciRoles({ providerArn });
  template.resourceCountIs('AWS::IAM::OIDCProvider', 0);
  template.allResourcesProperties('AWS::IAM::Role', {
    AssumeRolePolicyDocument: {
      Statement: [Match.objectLike({ Principal: { Federated: providerArn } })],
      Version: '2012-10-17',
    },
  });
});

// The suffixes of a stack's ARN and of an alarm's name are unknown before creation, so they require wildcards.
test('cdk-nag finds only the wildcards for stack ids and resource names', () => {
  const app = newApp();
  new CiRolesStack(app, { settings: SETTINGS });
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  expect(() => app.synth()).toThrow(/wildcard permissions/);
  const report = JSON.parse(readFileSync(join(app.outdir, 'validation-report.json'), 'utf8'));
  const rules = report.pluginReports.flatMap(({ violations }: { violations: { ruleName: string }[] }) =>
    violations.map(({ ruleName }) => ruleName),
  );
  expect(rules.length).toBeGreaterThan(0);
  for (const rule of rules) {
    expect(rule).toMatch(
      /^AwsSolutions-IAM5\[Resource::arn:.*:(stack\/(Lifo|Agent)Queue-[a-z*]+\/|(alarm:|function:|schedule\/default\/|table\/)(Lifo|Agent)Queue-[a-z]+-|event-source-mapping:)\*\]$/,
    );
  }
});

describe('the settings', () => {
  const read = (context: Record<string, unknown>) => readCiSettings((key) => context[key]);

  test('come from the context, with defaults for most of them', () => {
    expect(read({ repository: 'o/r' })).toEqual({
      repository: 'o/r',
      environments: ['staging', 'prod'],
      branch: 'main',
      regions: undefined,
      providerArn: undefined,
      qualifier: 'hnb659fds',
    });
    expect(
      read({
        repository: 'o@1/r.s_t@2',
        environments: 'dev',
        regions: 'eu-west-1,us-east-1',
        branch: 'b',
        qualifier: 'q',
      }),
    ).toMatchObject({
      environments: ['dev'],
      regions: ['eu-west-1', 'us-east-1'],
      branch: 'b',
      qualifier: 'q',
    });
  });

  test('are rejected with all problems in one error', () => {
    const wrong = {
      repository: 'freshq',
      environments: 'staging,qa',
      branch: 'release/*',
      regions: 'eu-central-1,Frankfurt',
      provider: 'x',
      qualifier: 'No Good',
    };
    expect(() => read(wrong)).toThrow(
      /repository: [\s\S]*environments: "qa"[\s\S]*branch: [\s\S]*regions: "Frankfurt"[\s\S]*provider: [\s\S]*qualifier: /,
    );
  });

  test.each(['', 'freshq', 'o/*', '*/r', 'o/r:ref', 'o/r/x', 'o/r?', 'o@x/r'])(
    'the repository "%s" is rejected',
    (repository) => {
      expect(ciProblems({ ...SETTINGS, repository }).map(({ setting }) => setting)).toEqual(['repository']);
    },
  );
});
