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

const period = Duration.minutes(1);
/** Period of the graphs on billed amounts. */
const BILLED = Duration.minutes(5);

/** Graphs on the limits of the functions, of the table and of its `index`, if there is one. */
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
    graph('Throttled reads and writes of the table', [
      ...throttles(table, {}),
      ...(index === undefined ? [] : throttles(table, { GlobalSecondaryIndexName: index })),
    ]),
  ];
}

/** Graphs on the amounts that AWS bills. */
export function costGraphs(functions: Functions, table: Table): IWidget[] {
  const options = { statistic: Stats.SUM, period: BILLED };
  return [
    graph(
      'Lambda: GB-seconds, and invocations (right)',
      each(functions, gigabyteSeconds),
      each(functions, ({ function: fn }) => fn.metricInvocations(options), 'invocations of '),
    ),
    graph('DynamoDB: consumed read and write units', [
      table.metricConsumedReadCapacityUnits(options),
      table.metricConsumedWriteCapacityUnits(options),
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

/** Metrics on throttled reads and writes. DynamoDB counts those of an index separately from those of its table. */
function throttles(table: Table, index: { GlobalSecondaryIndexName?: string }): IMetric[] {
  const dimensionsMap = { TableName: table.tableName, ...index };
  const suffix = index.GlobalSecondaryIndexName === undefined ? '' : ' of the index';
  return ['ReadThrottleEvents', 'WriteThrottleEvents'].map((name) =>
    table.metric(name, { statistic: Stats.SUM, period, dimensionsMap, label: `${name}${suffix}` }),
  );
}

/**
 * Metric on the ingested bytes of a log group. The CDK's own metric has no log group, so it counts the whole account.
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
