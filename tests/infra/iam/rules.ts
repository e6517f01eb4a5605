import type { Resource, Synthesized } from '../synthesis';
import { everyStatement, type Held } from './statements';
import { NETWORK_INTERFACES, reasonFor } from './wildcards';

/** A check that cdk-nag does not make (`nag.test.ts`). Returns the findings, each with its construct path. */
export type Rule = (template: Synthesized) => string[];

/** Construct ids of the functions that intentionally form a loop by waking each other. */
export const LOOP = ['process-tasks', 'trigger'];

/** Services that can assume a role. */
const TRUSTED = ['lambda.amazonaws.com', 'scheduler.amazonaws.com', 'iot.amazonaws.com'];

/** Issuer of the tokens for GitHub jobs. */
const GITHUB = 'token.actions.githubusercontent.com';

function ofStatements(breaks: (held: Held, template: Synthesized) => string[]): Rule {
  return (template) => everyStatement(template).flatMap((held) => breaks(held, template));
}

function ofResources(
  type: string,
  breaks: (resource: Resource, path: string, template: Synthesized) => string[],
): Rule {
  return (template) =>
    template.resources
      .filter(([, resource]) => resource.Type === type)
      .flatMap(([logicalId, resource]) => breaks(resource, template.readable({ Ref: logicalId }), template));
}

/** No statement uses action patterns, `NotAction`, `NotResource` or `NotPrincipal`. */
export const namesActions = ofStatements(({ effect, actions, at, negated }) => [
  ...(effect === 'Allow'
    ? actions.filter((action) => /[*?]/.test(action)).map((action) => `${at}: ${action}`)
    : []),
  ...negated.map((element) => `${at}: ${element}`),
]);

/** Every statement names its resources in full, except where {@link reasonFor} gives a reason. */
export const namesResources = ofStatements(({ effect, kind, actions, resources, at }) => {
  if (effect !== 'Allow' || kind === 'trust') return [];
  return resources
    .filter((resource) => /[*?]/.test(resource))
    .flatMap((resource) =>
      actions
        .filter((action) => reasonFor(action, resource) === undefined)
        .map((action) => `${at}: ${action} on ${resource}`),
    );
});

/** Resource policies allow only services, each on behalf of one resource or account. */
export const letsInOnlyServices = ofStatements(({ effect, kind, principal, conditions, at }) => {
  if (effect !== 'Allow' || kind !== 'resource') return [];
  const services =
    Object.keys(principal as object).every((type) => type === 'Service') && typeof principal === 'object';
  return services && /aws:Source(Arn|Account)/.test(JSON.stringify(conditions ?? {}))
    ? []
    : [`${at}: ${JSON.stringify(principal)}`];
});

/** Lambda permissions allow only a service that acts on behalf of one source. */
export const permissionsNameTheirSource = ofResources('AWS::Lambda::Permission', ({ Properties }, path) => {
  const source = Properties.SourceArn ?? Properties.SourceAccount;
  return /\.amazonaws\.com$/.test(Properties.Principal) && source !== undefined ? [] : [path];
});

/** Only Lambda, EventBridge Scheduler and IoT in this account and named GitHub jobs can assume roles. */
export const trustsOnlyItsServices = ofStatements(({ kind, principal, conditions, at }) => {
  if (kind !== 'trust') return [];
  const { Service: service, Federated: federated, ...others } = principal as Record<string, unknown>;
  const trusted =
    federated === undefined
      ? trustsService(service, conditions)
      : service === undefined && trustsJob(conditions);
  return trusted && Object.keys(others).length === 0 ? [] : [`${at}: ${JSON.stringify(principal)}`];
});

function trustsService(service: unknown, conditions: unknown): boolean {
  if (typeof service !== 'string' || !TRUSTED.includes(service)) return false;
  if (service === 'lambda.amazonaws.com') return true;
  // Without these conditions, a schedule or rule of another account, a schedule of another group, or another resource of
  // the service could use the role.
  const named = JSON.stringify(conditions ?? {});
  return /aws:SourceAccount/.test(named) && /aws:SourceArn/.test(named);
}

/**
 * Whether conditions restrict the token to AWS and one kind of job in one repository, with `StringEquals`. They must
 * also restrict a deployment job to one workflow and one branch.
 */
function trustsJob(conditions: unknown): boolean {
  const { StringEquals: equals = {} } = conditions as { StringEquals?: Record<string, string> };
  const [audience, subject = '', ref, workflow] = ['aud', 'sub', 'ref', 'job_workflow_ref'].map(
    (claim) => equals[`${GITHUB}:${claim}`],
  );
  if (audience !== 'sts.amazonaws.com' || !/^repo:[^:*?]+:[^*?]+$/.test(subject)) return false;
  return subject.endsWith(':pull_request') || (ref !== undefined && workflow?.endsWith(`@${ref}`) === true);
}

/** A role that allows Lambda to place a function in a VPC denies the same actions to the function's own code. */
export const keepsInterfacesFromCode: Rule = (template) => {
  const statements = everyStatement(template).filter(({ kind }) => kind === 'identity');
  return statements
    .filter(({ effect }) => effect === 'Allow')
    .flatMap(({ actions, attachedTo }) =>
      attachedTo.flatMap((role) =>
        actions
          .filter((action) => NETWORK_INTERFACES.includes(action))
          .filter(
            (action) =>
              !statements.some(
                (denying) =>
                  denying.effect === 'Deny' &&
                  denying.attachedTo.includes(role) &&
                  denying.actions.includes(action) &&
                  Object.keys(denying.conditions as object).join() === 'ArnLike' &&
                  JSON.stringify(denying.conditions).includes('lambda:SourceFunctionArn'),
              ),
          )
          .map((action) => `${role}: ${action}`),
      ),
    );
};

/** Every function has its own role. */
export const sharesNoRole: Rule = (template) => {
  const roles = template
    .all('AWS::Lambda::Function')
    .map(({ Properties }) => template.readable(Properties.Role));
  return roles.filter((role, index) => roles.indexOf(role) !== index);
};

/** Every topic rejects publishing without TLS. cdk-nag accepts an encrypted topic without this statement. */
export const topicsAreTlsOnly = ofResources('AWS::SNS::Topic', (_resource, path, template) => {
  const denies = everyStatement(template).some(
    ({ effect, kind, attachedTo, principal, conditions, actions }) =>
      effect === 'Deny' &&
      kind === 'resource' &&
      attachedTo.includes(path) &&
      [JSON.stringify('*'), JSON.stringify({ AWS: '*' })].includes(JSON.stringify(principal)) &&
      actions.includes('sns:Publish') &&
      JSON.stringify(conditions) === JSON.stringify({ Bool: { 'aws:SecureTransport': 'false' } }),
  );
  return denies ? [] : [path];
});

/** Every topic is encrypted with a key. */
export const topicsAreEncrypted = ofResources('AWS::SNS::Topic', ({ Properties }, path) =>
  Properties?.KmsMasterKeyId === undefined ? [path] : [],
);

/** Every function has a failure destination for asynchronous invocations. cdk-nag accepts a function without settings for them. */
export const functionsKeepFailures = ofResources('AWS::Lambda::Function', (_resource, path, template) => {
  const configured = template
    .all('AWS::Lambda::EventInvokeConfig')
    .some(
      ({ Properties }) =>
        template.readable(Properties.FunctionName) === path &&
        Properties.DestinationConfig?.OnFailure?.Destination !== undefined,
    );
  return configured ? [] : [path];
});

/** Every schedule has a dead-letter queue. */
export const schedulesKeepFailures = ofResources('AWS::Scheduler::Schedule', ({ Properties }, path) =>
  Properties.Target.DeadLetterConfig?.Arn === undefined ? [path] : [],
);

/** Every IoT rule has an error action. */
export const iotRulesKeepFailures = ofResources('AWS::IoT::TopicRule', ({ Properties }, path) =>
  Properties.TopicRulePayload.ErrorAction === undefined ? [path] : [],
);

/** Every function logs to a log group defined in the template. */
export const logsToOwnGroup = ofResources('AWS::Lambda::Function', ({ Properties }, path, template) => {
  const group = Properties.LoggingConfig?.LogGroup;
  const groups = template.resources.filter(([, { Type }]) => Type === 'AWS::Logs::LogGroup');
  const paths = groups.map(([logicalId]) => template.readable({ Ref: logicalId }));
  return group !== undefined && paths.includes(template.readable(group)) ? [] : [path];
});

/** Lambda's recursive loop detection is enabled for every function except those in {@link LOOP}. */
export const onlyTheLoopLoops = ofResources('AWS::Lambda::Function', ({ Properties }, path) => {
  const wanted = LOOP.some((name) => path === `${name}/function`) ? 'Allow' : undefined;
  return Properties.RecursiveLoop === wanted
    ? []
    : [`${path}: ${Properties.RecursiveLoop ?? 'ended by Lambda'}`];
});
