import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks, ServerlessChecks } from 'cdk-nag';

/** A finding of a cdk-nag rule. */
export interface Finding {
  /** The rule, in the format of an acknowledgement: `Pack::Pack-Rule`. */
  readonly rule: string;
  /** Description of the rule. */
  readonly says: string;
  /** Path of the construct with the finding. */
  readonly path: string;
}

export interface Acknowledged extends Finding {
  readonly reason: string;
  /** Path of the construct that acknowledges the finding. */
  readonly at: string;
}

export interface Report {
  readonly findings: readonly Finding[];
  readonly acknowledged: readonly Acknowledged[];
}

interface Violation {
  readonly ruleName: string;
  readonly description: string;
  readonly violatingConstructs: readonly { readonly constructPath: string }[];
}

interface PluginReport {
  readonly pluginName: string;
  readonly violations: readonly Violation[];
  readonly suppressedViolations?: readonly (Violation & { reason: string; acknowledgedAt: string })[];
}

const PACKS = ['AwsSolutions', 'Serverless'];

/** Synthesizes an app with the cdk-nag packs AwsSolutions and Serverless. */
export function check(app: App): Report {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
  // A finding makes the synthesis fail with an error message. The report contains the parts of the message.
  let directory = app.outdir;
  try {
    directory = app.synth().directory;
  } catch (failure) {
    if (!/ValidationFailed/.test(String(failure))) throw failure;
  }
  const { pluginReports } = JSON.parse(readFileSync(join(directory, 'validation-report.json'), 'utf8')) as {
    pluginReports: PluginReport[];
  };
  const reports = pluginReports.filter(({ pluginName }) => PACKS.includes(pluginName));
  expect(reports.map(({ pluginName }) => pluginName).sort()).toEqual(PACKS);
  return {
    findings: reports.flatMap(({ pluginName, violations }) =>
      violations.flatMap((violation) => findings(pluginName, violation)),
    ),
    acknowledged: reports.flatMap(({ pluginName, suppressedViolations = [] }) =>
      suppressedViolations.flatMap((violation) =>
        findings(pluginName, violation).map((finding) => ({
          ...finding,
          reason: violation.reason,
          at: violation.acknowledgedAt,
        })),
      ),
    ),
  };
}

function findings(pack: string, { ruleName, description, violatingConstructs }: Violation): Finding[] {
  return violatingConstructs.map(({ constructPath }) => ({
    rule: `${pack}::${ruleName}`,
    says: description,
    path: constructPath,
  }));
}
