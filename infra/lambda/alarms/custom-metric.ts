import { Duration } from 'aws-cdk-lib';
import { type IMetric, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import type { AgentMetricName } from '../../contract/agents';
import { METRICS, type MetricName } from '../../contract/tasks';

/** A metric that the functions of a queue emit; the name of its table tells it from other queues'. */
export function emitted(
  table: Table,
  metricName: MetricName | AgentMetricName,
  statistic: string,
  period = Duration.minutes(1),
): IMetric {
  return new Metric({
    namespace: METRICS.namespace,
    metricName,
    dimensionsMap: { [METRICS.dimension]: table.tableName },
    statistic,
    period,
  });
}
