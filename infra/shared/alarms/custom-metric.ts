import { Duration } from 'aws-cdk-lib';
import { Metric, type MetricOptions } from 'aws-cdk-lib/aws-cloudwatch';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { AGENT_METRICS } from '../../contract/agent-metrics';
import type { AgentMetricName } from '../../contract/agents';
import { TASK_METRICS } from '../../contract/task-metrics';
import { METRICS, type MetricName } from '../../contract/tasks';

const DECLARED = { ...TASK_METRICS, ...AGENT_METRICS };

/**
 * Returns a metric that a queue's functions emit. Its dimension value is the name of the queue's table. The default
 * statistic is the declared one, and the default period is one minute.
 */
export function emitted(
  table: Table,
  metricName: MetricName | AgentMetricName,
  options: Pick<MetricOptions, 'statistic' | 'period'> = {},
): Metric {
  return new Metric({
    namespace: METRICS.namespace,
    metricName,
    dimensionsMap: { [METRICS.dimension]: table.tableName },
    statistic: DECLARED[metricName].statistic,
    period: Duration.minutes(1),
    ...options,
  });
}
