import { QueryDefinition, QueryString, type QueryStringProps } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { RustFunction } from '../rust-function';
import { fieldsOf } from './log-line';

/** A query of CloudWatch Logs Insights, saved for the person on call. */
export interface SavedQuery {
  /** Its name in the list of saved queries. */
  readonly name: string;
  /** What it answers. */
  readonly answers: string;
  /** The functions whose logs it reads; an optional function that a queue lacks is left out. */
  readonly of: readonly string[];
  /** The query. Its first line may say what to replace. */
  readonly query: QueryStringProps;
}

/** The query for the warnings and errors of functions. `error` is the field of such a line that says what failed. */
export function errorsQuery(of: readonly string[], error: string): SavedQuery {
  const { level, message } = fieldsOf();
  return {
    name: 'errors',
    answers: 'the warnings and errors of every function, by their text',
    of,
    query: {
      filterStatements: [`${level} in ["WARN", "ERROR"]`],
      statsStatements: [`count(*) as lines, latest(@timestamp) as last by ${level}, ${message}, ${error}`],
      sort: 'lines desc',
    },
  };
}

/** Stands in a query for the id that a person puts in its place. */
export const PUT_ID_HERE = 'PUT-THE-ID-HERE';

/** Props of {@link SavedQueries}. */
export interface SavedQueriesProps {
  /** The queries, by their construct ids. */
  readonly queries: Readonly<Record<string, SavedQuery>>;
  /** The queue's functions, by name. */
  readonly functions: Readonly<Record<string, RustFunction>>;
}

/** A queue's saved queries, in a folder of CloudWatch's list that has the queue's construct path as its name. They cost nothing. */
export class SavedQueries extends Construct {
  /** The queries. */
  readonly definitions: readonly QueryDefinition[];

  constructor(scope: Construct, id: string, { queries, functions }: SavedQueriesProps) {
    super(scope, id);
    const folder = this.node.scopes.at(-3)?.node.path;
    this.definitions = Object.entries(queries).map(
      ([key, { name, of, query }]) =>
        new QueryDefinition(this, key, {
          queryDefinitionName: `freshq/${folder}/${name}`,
          queryString: new QueryString(query),
          logGroups: logGroupsOf(functions, of),
        }),
    );
  }
}

/** The log groups of those of `functions` that are named. */
export function logGroupsOf(functions: Readonly<Record<string, RustFunction>>, names: readonly string[]) {
  return Object.entries(functions)
    .filter(([name]) => names.includes(name))
    .map(([, { logGroup }]) => logGroup);
}
