import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fullDiff } from '@aws-cdk/cloudformation-diff';
import { broadenedPermissions, dataHazards } from '../../infra/diff/hazards';
import { MOST_BYTES, renderSummary } from '../../infra/diff/summary';
import { type CfnTemplate, readTemplates } from '../../infra/diff/templates';
import { ROOT, Synthesized } from './synthesis';

const STACK = 'LifoQueue-prod';
const SIDES = { base: 'deployed', head: 'abc1234' };

const PROD: CfnTemplate = Synthesized.environment('prod').template.toJSON();

/** Returns a copy of the prod template, modified by `change`. */
function prod(change: (template: CfnTemplate) => void = () => {}): CfnTemplate {
  const template: CfnTemplate = structuredClone(PROD);
  change(template);
  return template;
}

/** Returns the resources of a type. Throws an error if there are none. */
function each(template: CfnTemplate, type: string): CfnTemplate[] {
  const found = Object.values<CfnTemplate>(template.Resources).filter(({ Type }) => Type === type);
  expect(found.length).toBeGreaterThan(0);
  return found;
}

function first(template: CfnTemplate, type: string): CfnTemplate {
  return each(template, type)[0] as CfnTemplate;
}

function remove(template: CfnTemplate, type: string): void {
  const [logicalId] = Object.entries<CfnTemplate>(template.Resources).find(
    ([, { Type }]) => Type === type,
  ) ?? [''];
  delete template.Resources[logicalId];
}

function summary(change: (template: CfnTemplate) => void): string {
  return renderSummary(new Map([[STACK, prod()]]), new Map([[STACK, prod(change)]]), SIDES);
}

describe('data that can be lost', () => {
  test.each<[string, string, (template: CfnTemplate) => void, RegExp]>([
    ['a deleted topic', 'AWS::SNS::Topic', (t) => remove(t, 'AWS::SNS::Topic'), /is deleted, with/],
    [
      'a retained table that is removed',
      'AWS::DynamoDB::Table',
      (t) => remove(t, 'AWS::DynamoDB::Table'),
      /is removed from the stack, but retained in the account/,
    ],
    [
      "a table's key",
      'AWS::DynamoDB::Table',
      (t) => {
        first(t, 'AWS::DynamoDB::Table').Properties.KeySchema[0].AttributeName = 'id';
      },
      /is replaced \(KeySchema\): the old one stays in the account, outside the stack/,
    ],
    [
      "a queue's name",
      'AWS::SQS::Queue',
      (t) => {
        Object.assign(first(t, 'AWS::SQS::Queue'), { UpdateReplacePolicy: 'Delete' });
        first(t, 'AWS::SQS::Queue').Properties.QueueName = 'tasks';
      },
      /is replaced \(QueueName\)/,
    ],
    [
      'an index',
      'AWS::DynamoDB::Table',
      (t) => {
        delete first(t, 'AWS::DynamoDB::Table').Properties.GlobalSecondaryIndexes;
      },
      /loses the index task-status-created-index/,
    ],
    [
      'deletion protection',
      'AWS::DynamoDB::Table',
      (t) => {
        first(t, 'AWS::DynamoDB::Table').Properties.DeletionProtectionEnabled = false;
      },
      /loses its deletion protection/,
    ],
    [
      'point-in-time recovery',
      'AWS::DynamoDB::Table',
      (t) => {
        delete first(t, 'AWS::DynamoDB::Table').Properties.PointInTimeRecoverySpecification;
      },
      /loses its point-in-time recovery/,
    ],
    [
      'a policy that keeps',
      'AWS::DynamoDB::Table',
      (t) => {
        first(t, 'AWS::DynamoDB::Table').DeletionPolicy = 'Delete';
      },
      /loses its DeletionPolicy Retain/,
    ],
    [
      'retention of logs',
      'AWS::Logs::LogGroup',
      (t) => {
        first(t, 'AWS::Logs::LogGroup').Properties.RetentionInDays = 1;
      },
      /keeps its data for 1 days, before for 90 days/,
    ],
    [
      'retention of messages',
      'AWS::SQS::Queue',
      (t) => {
        first(t, 'AWS::SQS::Queue').Properties.MessageRetentionPeriod = 60;
      },
      /keeps its data for 60 s, before for/,
    ],
    [
      'a removed message retention, so that the SQS default applies',
      'AWS::SQS::Queue',
      (t) => {
        delete first(t, 'AWS::SQS::Queue').Properties.MessageRetentionPeriod;
      },
      /keeps its data for 345600 s, before for 1209600 s/,
    ],
  ])('%s', (_, type, change, happens) => {
    const hazards = dataHazards(fullDiff(prod(), prod(change)));
    expect(hazards).toContainEqual({
      type,
      where: expect.stringMatching(/^LifoQueue-prod\/[^ ]+(?<!\/Resource)$/),
      happens: expect.stringMatching(happens),
    });
  });

  test.each<[string, (template: CfnTemplate) => void]>([
    ['no change', () => {}],
    [
      'a longer retention',
      (t) => {
        first(t, 'AWS::Logs::LogGroup').Properties.RetentionInDays = 365;
      },
    ],
    [
      'the code and memory of functions',
      (t) => {
        for (const { Properties } of each(t, 'AWS::Lambda::Function')) {
          Properties.Code.S3Key = 'other.zip';
          Properties.MemorySize = 512;
        }
      },
    ],
    ['a removed alarm', (t) => remove(t, 'AWS::CloudWatch::Alarm')],
  ])('nothing is lost by %s', (_, change) => {
    expect(dataHazards(fullDiff(prod(), prod(change)))).toEqual([]);
  });
});

describe('broadened permissions', () => {
  test('include an added statement and a statement with added actions', () => {
    const diff = fullDiff(
      prod(),
      prod((template) => {
        const { Statement } = first(template, 'AWS::IAM::Policy').Properties.PolicyDocument;
        Statement.push({ Effect: 'Allow', Action: 'dynamodb:Scan', Resource: '*' });
      }),
    );
    expect(broadenedPermissions(diff)).toEqual([expect.stringMatching(/^Allow dynamodb:Scan on \* to AWS:/)]);
  });

  test('include a removed Deny statement', () => {
    const deny = { Effect: 'Deny', Action: 'sqs:*', Resource: '*', Principal: '*' };
    const withDeny = prod((template) => {
      first(template, 'AWS::SQS::QueuePolicy').Properties.PolicyDocument.Statement = [deny];
    });
    const without = prod((template) => {
      first(template, 'AWS::SQS::QueuePolicy').Properties.PolicyDocument.Statement = [];
    });
    expect(broadenedPermissions(fullDiff(withDeny, without))).toEqual([
      expect.stringMatching(/^removed: Deny sqs:\*/),
    ]);
  });

  test('do not include a removed Allow statement', () => {
    const diff = fullDiff(
      prod(),
      prod((template) => {
        first(template, 'AWS::IAM::Policy').Properties.PolicyDocument.Statement.pop();
      }),
    );
    expect(broadenedPermissions(diff)).toEqual([]);
  });
});

describe('the summary', () => {
  test('lists data hazards, then permissions, before all details', () => {
    const text = summary((template) => {
      first(template, 'AWS::DynamoDB::Table').Properties.KeySchema[0].AttributeName = 'id';
      first(template, 'AWS::IAM::Policy').Properties.PolicyDocument.Statement.push({
        Effect: 'Allow',
        Action: 'dynamodb:*',
        Resource: '*',
      });
    });
    const places = ['Data may be lost', 'KeySchema', 'Permissions are broadened', 'dynamodb:*', '<details>'];
    expect(places.map((place) => text.indexOf(place))).toEqual(
      [...places.map((place) => text.indexOf(place))].sort((a, b) => a - b),
    );
    expect(text).not.toContain('\u001b');
  });

  test('describes every stack, without warnings if nothing is lost', () => {
    const base = new Map([
      ['A', prod()],
      ['C', prod()],
    ]);
    const head = new Map([
      ['A', prod()],
      ['B', prod()],
    ]);
    const text = renderSummary(base, head, SIDES);
    expect(text).toMatch(/- `A`: no difference\n- `B`: new, with \d+ resources\n- `C`: no longer in the app/);
    expect(text).not.toContain('###');
  });

  test('names only the changed setting, with its path', () => {
    const text = summary((template) => {
      const { Variables } = each(template, 'AWS::Lambda::Function')
        .map(({ Properties }) => Properties.Environment)
        .find((environment) => environment.Variables.SETTINGS_PROCESS_TASKS);
      const settings = JSON.parse(Variables.SETTINGS_PROCESS_TASKS);
      settings.retry.maxMs = 77_000;
      Variables.SETTINGS_PROCESS_TASKS = JSON.stringify(settings);
    });
    expect(text).toMatch(/\.SETTINGS_PROCESS_TASKS:\s+.*\.retry:\s+.*\.maxMs:\s+.*300000\s+.*77000/);
    expect(text).not.toContain('turnMs');
  });

  test('ignores non-ASCII characters that CloudFormation replaces', () => {
    const described = (text: string) =>
      prod((template) => {
        first(template, 'AWS::Lambda::Function').Properties.Description = text;
      });
    const text = renderSummary(
      new Map([[STACK, described('tasks ? newest first')]]),
      new Map([[STACK, described('tasks → newest first')]]),
      SIDES,
    );
    expect(text).toContain(`- \`${STACK}\`: no difference`);
  });

  test('is deterministic', () => {
    const change = (template: CfnTemplate) => remove(template, 'AWS::SNS::Topic');
    expect(summary(change)).toBe(summary(change));
  });

  test("fits into GitHub's limit, with the hazards at the top", () => {
    const text = summary((template) => {
      for (const { Properties } of each(template, 'AWS::Logs::LogGroup')) Properties.RetentionInDays = 1;
      for (let n = 0; n < 900; n++) {
        template.Resources[`Extra${'x'.repeat(1_200)}${n}`] = { Type: 'AWS::SNS::Topic', Properties: {} };
      }
    });
    expect(Buffer.byteLength(text)).toBe(MOST_BYTES);
    expect(text).toMatch(/^\*\*This summary is cut off/);
    expect(text).toMatch(/Data may be lost/);
  });

  test('contains the number of omitted lines and truncates long names', () => {
    const text = summary((template) => {
      const { Statement } = first(template, 'AWS::IAM::Policy').Properties.PolicyDocument;
      for (let n = 0; n < 120; n++) {
        Statement.push({ Effect: 'Allow', Action: `a:${n}${'y'.repeat(300)}`, Resource: '*' });
      }
    });
    expect(text).toMatch(/- and 70 more/);
    expect(text).toMatch(/`Allow a:\d+y{150,200}…`/);
  });

  test('keeps template text inside its code block and escapes property names', () => {
    const evil = '```\n# hello @everyone <img src=x>';
    const text = summary((template) => {
      first(template, 'AWS::CloudWatch::Alarm').Properties.AlarmDescription = evil;
      first(template, 'AWS::SQS::Queue').Metadata['aws:cdk:path'] = 'a`b</summary> @everyone';
      first(template, 'AWS::SQS::Queue').Properties.MessageRetentionPeriod = 60;
    });
    const fence = /<\/summary>\n\n(`{3,})\n/.exec(text)?.[1] ?? '';
    expect(fence.length).toBeGreaterThan(3);
    expect(text.split('\n').filter((line) => line === fence)).toHaveLength(2);
    expect(text).toContain('`` a`b</summary> @everyone ``');
  });
});

describe('make diff-summary', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'freshq-diff-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  test('reads the templates of a folder, which can be empty', () => {
    expect(readTemplates(folder).size).toBe(0);
    writeFileSync(join(folder, `${STACK}.template.json`), JSON.stringify(prod()));
    writeFileSync(join(folder, 'manifest.json'), '{}');
    expect([...readTemplates(folder).keys()]).toEqual([STACK]);
  });

  test('rejects a missing folder and a file that is not a template', () => {
    expect(() => readTemplates(join(folder, 'none'))).toThrow(
      /the folder .*none with templates does not exist.*Remedy/,
    );
    writeFileSync(join(folder, 'X.template.json'), '{}');
    expect(() => readTemplates(folder)).toThrow(/X\.template\.json is not a CloudFormation template/);
  });

  test('writes the summary', () => {
    writeFileSync(join(folder, `${STACK}.template.json`), JSON.stringify(prod()));
    const out = execFileSync(
      join(ROOT, 'node_modules', '.bin', 'tsx'),
      [join(ROOT, 'infra', 'diff', 'main.ts'), '--base', folder, '--head', folder, '--head-name', 'abc'],
      { encoding: 'utf8' },
    );
    expect(out).toBe(
      renderSummary(readTemplates(folder), readTemplates(folder), { base: folder, head: 'abc' }),
    );
  });
});
