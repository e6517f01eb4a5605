import { Annotations, Token } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { type Problem, problemIf } from '../../shared/problem';
import type { NetworkSettings } from '../../shared/rust-function';
import type { ITaskRunner, RunnerBinding } from './binding';
import type { IHttpAuth } from './http-auth';

/** Props of `TaskRunner.http`. */
export interface HttpRunnerProps extends NetworkSettings {
  /** URL to which the runner POSTs each task: `https://…`, or `http://` for the local machine. */
  readonly url: string;
  /**
   * Authentication of the requests.
   * @default - none
   */
  readonly auth?: IHttpAuth;
}

/**
 * Returns the problems with a URL. A URL that is known only at deployment is not checked. The rules are at least as strict
 * as those of the function (`crates/lifo-queue/src/runner/http/url.rs`).
 */
export function urlProblems(url: string): Problem[] {
  if (Token.isUnresolved(url)) return [];
  const setting = 'runner.url';
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !['http:', 'https:'].includes(parsed.protocol)) {
    return [
      {
        setting,
        rule: `"${url}" is not an http(s) address`,
        remedy: 'give a whole address, for example https://tasks.example.com/run',
      },
    ];
  }
  if (hostIn(url) !== parsed.hostname) {
    return [
      {
        setting,
        rule: `"${url}" does not contain the host ${parsed.hostname} in full`,
        remedy: `write ${parsed.href}`,
      },
    ];
  }
  return [
    // `new URL` encodes such characters silently, but the function rejects them.
    ...problemIf(
      !/^[\w\-.~:/?#[\]@!$&'()*+,;=%]+$/.test(url),
      setting,
      `"${url}" contains characters that an address must percent-encode`,
      `write ${parsed.href}`,
    ),
    ...problemIf(
      parsed.protocol === 'http:' && !isLoopback(parsed.hostname),
      setting,
      `http:// would send tasks and credentials to ${parsed.hostname} unencrypted`,
      'use https://, or call it from your own function with TaskRunner.lambda; http:// is for 127.0.0.1, [::1] and localhost only',
    ),
    ...problemIf(
      /^\w+:\/\/[^/?#]*@/.test(url),
      setting,
      'the template and the console would show the credentials in the address',
      'keep them in Secrets Manager and use HttpAuth.header',
    ),
  ];
}

/**
 * Returns the host as written, in lower case. `new URL` accepts more: `https:/host`, and `127.1` or `0x7f.1` as an
 * address. The function rejects these or reads another host.
 */
function hostIn(url: string): string | undefined {
  return /^https?:\/\/(?:[^/?#]*@)?([^/?#@]*?)(?::\d+)?(?=[/?#]|$)/i.exec(url)?.[1]?.toLowerCase();
}

/** Returns a URL's query parameters whose names suggest that they contain a key. */
function secretParameters(url: string): string[] {
  if (Token.isUnresolved(url) || !URL.canParse(url)) return [];
  const names = [...new URL(url).searchParams.keys()];
  return names.filter((name) => /(key|token|secret|password|signature)$|^(sig|code|auth)$/i.test(name));
}

export function networkProblems(network: NetworkSettings): Problem[] {
  if (network.vpc !== undefined) return [];
  return problemIf(
    !(network.securityGroups === undefined && network.vpcSubnets === undefined),
    'runner.securityGroups',
    'security groups and subnets have no effect without a VPC',
    'set vpc too, or omit them',
  );
}

export class HttpRunner implements ITaskRunner {
  constructor(private readonly props: HttpRunnerProps) {}

  /** @internal */
  _problems(): Problem[] {
    return [
      ...urlProblems(this.props.url),
      ...networkProblems(this.props),
      ...(this.props.auth?._problems() ?? []),
    ];
  }

  /** @internal */
  _bind(scope: Construct): RunnerBinding {
    const { url, vpc, vpcSubnets, securityGroups } = this.props;
    const auth = this.props.auth?._bind(scope);
    for (const name of secretParameters(url)) {
      Annotations.of(scope).addWarningV2(
        `freshq:url-parameter-${name}`,
        `The query parameter "${name}" of runner.url seems to contain a key. The template, the console and the endpoint's access logs show it. Keep the key in Secrets Manager and send it with HttpAuth.header.`,
      );
    }
    return {
      description: { kind: 'http', url, ...(auth && { auth: auth.description }) },
      permissions: auth?.permissions,
      network: { vpc, vpcSubnets, securityGroups },
    };
  }
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
