import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type App, type Stack, Validations } from 'aws-cdk-lib';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { AwsSolutionsChecks } from 'cdk-nag';
import { AgentQueueStack } from '../../infra/stacks/agent-queue-stack';
import { LifoQueueStack } from '../../infra/stacks/lifo-queue-stack';
import { environment, newApp } from './synthesis';

/** The findings of cdk-nag's AWS Solutions pack that nobody acknowledged: `rule path`. */
function findings(app: App): string[] {
  // A finding makes the synthesis fail with a text for people; the report has it in parts.
  let directory = app.outdir;
  try {
    directory = app.synth().directory;
  } catch (failure) {
    expect(String(failure)).toMatch(/ValidationFailed/);
  }
  const report = JSON.parse(readFileSync(join(directory, 'validation-report.json'), 'utf8'));
  type Violation = { ruleName: string; violatingConstructs: { constructPath: string }[] };
  return report.pluginReports
    .filter(({ pluginName }: { pluginName: string }) => pluginName === 'AwsSolutions')
    .flatMap(({ violations }: { violations: Violation[] }) =>
      violations.flatMap(({ ruleName, violatingConstructs }) =>
        violatingConstructs.map(({ constructPath }) => `${ruleName} ${constructPath}`),
      ),
    );
}

function prodWithChecks(): { app: App; stacks: Stack[] } {
  const app = newApp();
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  const props = { environment: environment('prod') };
  return { app, stacks: [new LifoQueueStack(app, props), new AgentQueueStack(app, props)] };
}

test('the AWS Solutions rules find nothing that is not acknowledged with a reason', () => {
  expect(findings(prodWithChecks().app)).toEqual([]);
});

test('they would find a queue that is not TLS only, in either stack', () => {
  const { app, stacks } = prodWithChecks();
  for (const stack of stacks) new Queue(stack, 'open');
  const found = findings(app);
  expect(found).toContain('AwsSolutions-SQS4 LifoQueue-prod/open/Resource');
  expect(found).toContain('AwsSolutions-SQS4 AgentQueue-prod/open/Resource');
});
