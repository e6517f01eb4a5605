import { Duration } from 'aws-cdk-lib';
import {
  type IMetric,
  type IWidget,
  MathExpression,
  Metric,
  type MetricOptions,
  Stats,
} from 'aws-cdk-lib/aws-cloudwatch';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { CfnFunction } from 'aws-cdk-lib/aws-lambda';
import type { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { RustFunction } from '../rust-function';
import { graph, labelled } from './queue-dashboard';

type Functions = Readonly<Record<string, RustFunction>>;
type Index = { readonly GlobalSecondaryIndexName?: string };

const period = Duration.minutes(1);
/** Period of graphs that show billed amounts. */
const BILLED = Duration.minutes(5);

/** Returns graphs that show the limits of the functions, the table and, if there is one, its `index`. */
export function limitGraphs(functions: Functions, table: Table, index?: string): IWidget[] {
  return [
    graph(
      'Concurrent executions, and throttled invocations (right)',
      each(functions, ({ function: fn }) =>
        fn.metric('ConcurrentExecutions', { statistic: Stats.MAXIMUM, period }),
      ),
      each(
        functions,
        ({ function: fn }) => fn.metricThrottles({ statistic: Stats.SUM, period }),
        'throttled ',
      ),
    ),
    graph(
      'Longest invocation (ms)',
      each(functions, ({ function: fn }) => fn.metricDuration({ statistic: Stats.MAXIMUM, period })),
    ),
    graph('Throttled reads and writes, by reason', [
      ...throttles(table, {}),
      ...(index === undefined ? [] : throttles(table, { GlobalSecondaryIndexName: index })),
    ]),
  ];
}

/** Returns graphs of the amounts that AWS bills. An `index` of the table has its own consumption. */
export function costGraphs(functions: Functions, table: Table, index?: string): IWidget[] {
  const options = { statistic: Stats.SUM, period: BILLED };
  return [
    graph(
      'Lambda: GB-seconds, and invocations (right)',
      each(functions, gigabyteSeconds),
      each(functions, ({ function: fn }) => fn.metricInvocations(options), 'invocations of '),
    ),
    graph('DynamoDB: consumed read and write units', [
      ...consumed(table, {}),
      ...(index === undefined ? [] : consumed(table, { GlobalSecondaryIndexName: index })),
    ]),
    graph(
      'CloudWatch Logs: ingested bytes',
      each(functions, ({ logGroup }) => bytesTakenIn(logGroup, options)),
    ),
  ];
}

function each(functions: Functions, metric: (fn: RustFunction) => IMetric, prefix = ''): IMetric[] {
  return Object.entries(functions).map(([name, fn]) => labelled(metric(fn), `${prefix}${name}`));
}

/** DynamoDB metrics for the two reasons to throttle an on-demand table: the partition limit and the account quota. */
const THROTTLES = ['KeyRangeThroughput', 'AccountLimit'].flatMap((reason) =>
  ['Read', 'Write'].map((operation) => `${operation}${reason}ThrottleEvents`),
);

function throttles(table: Table, index: Index): IMetric[] {
  return THROTTLES.map((name) => ofTable(table, name, period, index));
}

function consumed(table: Table, index: Index): IMetric[] {
  return ['ConsumedReadCapacityUnits', 'ConsumedWriteCapacityUnits'].map((name) =>
    ofTable(table, name, BILLED, index),
  );
}

/** Returns a metric of the table or an index. DynamoDB counts an index separately from its table. */
function ofTable(table: Table, name: string, period: Duration, index: Index): IMetric {
  const dimensionsMap = { TableName: table.tableName, ...index };
  const suffix = index.GlobalSecondaryIndexName === undefined ? '' : ' of the index';
  return table.metric(name, { statistic: Stats.SUM, period, dimensionsMap, label: `${name}${suffix}` });
}

/**
 * Returns the metric for the bytes ingested by a log group. The CDK's own metric covers all log groups of the account.
 */
function bytesTakenIn({ logGroupName }: LogGroup, options: MetricOptions): IMetric {
  const dimensionsMap = { LogGroupName: logGroupName };
  return new Metric({ namespace: 'AWS/Logs', metricName: 'IncomingBytes', dimensionsMap, ...options });
}

function gigabyteSeconds({ function: fn, node }: RustFunction): IMetric {
  const { memorySize = 128 } = fn.node.defaultChild as CfnFunction;
  const duration = node.id.replaceAll('-', '_');
  return new MathExpression({
    expression: `${duration} / 1000 * ${memorySize / 1024}`,
    usingMetrics: { [duration]: fn.metricDuration({ statistic: Stats.SUM, period: BILLED }) },
    period: BILLED,
  });
}
