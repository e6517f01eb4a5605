import { QueryDefinition, QueryString } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { RustFunction } from '../rust-function';
import { fields, fieldsOf } from './log-line';

/** A saved query of CloudWatch Logs Insights, for operators. */
export interface SavedQuery {
  readonly name: string;
  /** Result of the query, worded to complete a sentence that starts with "Shows". */
  readonly shows: string;
  /** Functions whose logs the query reads. A function that the queue doesn't have is omitted. */
  readonly of: readonly string[];
  readonly query: readonly string[];
}

export function textOf({ query }: SavedQuery): string {
  return query.join('\n| ');
}

/** A complete query. The CDK's own query parts differ between the versions of aws-cdk-lib that freshq supports. */
class CompleteQuery extends QueryString {
  constructor(private readonly text: string) {
    super();
  }

  override toString(): string {
    return this.text;
  }
}

/** Placeholder in a query. An operator replaces it with an id. */
const PUT_ID_HERE = 'PUT-THE-ID-HERE';

/** The fields that a story query shows besides the time and the request, and the field with the subject's id. */
interface Story {
  readonly id: string;
  readonly shown: readonly string[];
}

/** Returns a query for all lines about one `subject`, for example a task. `which` describes the id in words. */
export function storyQuery(
  of: readonly string[],
  subject: string,
  which: string,
  { id, shown }: Story,
): SavedQuery {
  return {
    name: `${subject} story`,
    shows: `every line about one ${subject}, oldest first; replace ${PUT_ID_HERE} with ${which}`,
    of,
    query: [
      fields('@timestamp', ...shown, fieldsOf()['span.requestId']),
      `filter ${id} = "${PUT_ID_HERE}"`,
      'sort @timestamp asc',
      'limit 1000',
    ],
  };
}

/** Returns a query for warnings and errors of functions. `error` is the name of the field that contains the error. */
export function errorsQuery(of: readonly string[], error: string): SavedQuery {
  const { level, message } = fieldsOf();
  return {
    name: 'errors',
    shows: 'the warnings and errors of every function, by their text',
    of,
    query: [
      `filter ${level} in ["WARN", "ERROR"]`,
      `stats count(*) as lines, latest(@timestamp) as last by ${level}, ${message}, ${error}`,
      'sort lines desc',
    ],
  };
}

export interface SavedQueriesProps {
  readonly queries: Readonly<Record<string, SavedQuery>>;
  readonly functions: Readonly<Record<string, RustFunction>>;
}

/**
 * Saved queries of a queue, in a CloudWatch folder named after the queue's construct path. They are free.
 */
export class SavedQueries extends Construct {
  readonly definitions: readonly QueryDefinition[];

  constructor(scope: Construct, id: string, { queries, functions }: SavedQueriesProps) {
    super(scope, id);
    const folder = this.node.scopes.at(-3)?.node.path;
    this.definitions = Object.entries(queries).map(
      ([key, query]) =>
        new QueryDefinition(this, key, {
          queryDefinitionName: `freshq/${folder}/${query.name}`,
          queryString: new CompleteQuery(textOf(query)),
          logGroups: logGroupsOf(functions, query.of),
        }),
    );
  }
}

/** Returns the log groups of the `functions` whose names are in `names`. */
export function logGroupsOf(functions: Readonly<Record<string, RustFunction>>, names: readonly string[]) {
  return Object.entries(functions)
    .filter(([name]) => names.includes(name))
    .map(([, { logGroup }]) => logGroup);
}
