import { Stack, Token } from 'aws-cdk-lib';
import type { ISecret } from 'aws-cdk-lib/aws-secretsmanager';
import type { Construct } from 'constructs';
import { type Problem, problemIf } from '../../shared/problem';
import type { AuthDescription, RunnerPermission } from './binding';

/** A header whose value is stored in Secrets Manager. */
export interface HeaderAuthProps {
  /**
   * Name of the header.
   * @default Authorization
   */
  readonly name?: string;
  /** The secret, whose entire string is the header's value (`Bearer …`). */
  readonly secret: ISecret;
}

/** AWS Signature Version 4 (SigV4) with the role of `process-tasks`. */
export interface SigV4AuthProps {
  /** Service name in the signature, for example `execute-api` or `lambda`. */
  readonly service: string;
  /**
   * Region in the signature.
   * @default - the region of the stack
   */
  readonly region?: string;
  /** Actions that the role requires, for example `execute-api:Invoke`. */
  readonly actions: string[];
  /** ARNs of the resources to which these actions apply. */
  readonly resources: string[];
}

/** The parts that an authentication method adds to `process-tasks`. */
export interface AuthBinding {
  readonly description: AuthDescription;
  readonly permissions: RunnerPermission[];
}

/** Authentication of an HTTP runner. */
export interface IHttpAuth {
  /**
   * Returns the problems with the props.
   * @internal
   */
  _problems(): Problem[];
  /**
   * Returns the parts that the authentication method adds to `process-tasks`.
   * @internal
   */
  _bind(scope: Construct): AuthBinding;
}

/** Headers that the runner or the HTTP client sets itself. Matches `RESERVED` in `runner/http/auth.rs`. */
export const RESERVED_HEADERS = [
  'idempotency-key',
  'freshq-attempt',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
];

/** Returns the problems with a header name, which must be a token as defined in RFC 9110. */
export function headerNameProblems(name: string): Problem[] {
  const setting = 'runner.auth.name';
  return [
    ...problemIf(
      !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name),
      setting,
      `"${name}" is not the name of an HTTP header`,
      'use letters, digits and hyphens, for example Authorization',
    ),
    ...problemIf(
      RESERVED_HEADERS.includes(name.toLowerCase()),
      setting,
      `the runner sets the header ${name} itself`,
      'choose another header, for example Authorization',
    ),
  ];
}

/** Authentication methods for an HTTP runner. */
export class HttpAuth {
  /** Authenticates with a header whose value comes from Secrets Manager. */
  static header(props: HeaderAuthProps): IHttpAuth {
    return new HeaderAuth(props);
  }

  /** Signs requests with the role of `process-tasks` (SigV4), for example for API Gateway or function URLs with IAM. */
  static sigV4(props: SigV4AuthProps): IHttpAuth {
    return new SigV4Auth(props);
  }

  private constructor() {}
}

class HeaderAuth implements IHttpAuth {
  private readonly name: string;

  constructor(private readonly props: HeaderAuthProps) {
    this.name = props.name ?? 'Authorization';
  }

  /** @internal */
  _problems(): Problem[] {
    return headerNameProblems(this.name);
  }

  /** @internal */
  _bind(scope: Construct): AuthBinding {
    const { secret } = this.props;
    // Secrets Manager appends a hyphen and six random characters to a secret's ARN. The wildcard matches them if they
    // are unknown.
    const resource = secret.secretFullArn ?? `${secret.secretArn}-??????`;
    const permissions: RunnerPermission[] = [
      { actions: ['secretsmanager:GetSecretValue'], resources: [resource] },
    ];
    if (secret.encryptionKey !== undefined) {
      const { region } = Stack.of(scope);
      permissions.push({
        actions: ['kms:Decrypt'],
        resources: [secret.encryptionKey.keyArn],
        conditions: { StringEquals: { 'kms:ViaService': `secretsmanager.${region}.amazonaws.com` } },
      });
    }
    return { description: { kind: 'header', name: this.name, secretArn: secret.secretArn }, permissions };
  }
}

class SigV4Auth implements IHttpAuth {
  constructor(private readonly props: SigV4AuthProps) {}

  /** @internal */
  _problems(): Problem[] {
    const { service, actions, resources } = this.props;
    return [
      ...problemIf(
        !Token.isUnresolved(service) && !/^[a-z0-9-]+$/.test(service),
        'runner.auth.service',
        `"${service}" is not the name of an AWS service in a signature`,
        'use the name from the endpoint, for example execute-api or lambda',
      ),
      ...problemIf(
        actions.length === 0 || resources.length === 0,
        'runner.auth.actions',
        'without actions and resources the role has no permission to call the endpoint, and every request would be rejected',
        "name both, for example actions ['execute-api:Invoke'] and the ARN of the API's method",
      ),
    ];
  }

  /** @internal */
  _bind(scope: Construct): AuthBinding {
    const { service, region, actions, resources } = this.props;
    return {
      description: { kind: 'sigv4', service, region: region ?? Stack.of(scope).region },
      permissions: [{ actions, resources }],
    };
  }
}
