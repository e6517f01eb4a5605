import { Duration, Stack } from 'aws-cdk-lib';
import {
  type Alarm,
  AlarmStatusWidget,
  Dashboard,
  GraphWidget,
  type IMetric,
  type IWidget,
  LogQueryVisualizationType,
  LogQueryWidget,
  MathExpression,
  Metric,
  PeriodOverride,
  TextWidget,
  TextWidgetBackground,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import type { RustFunction } from '../rust-function';
import { logGroupsOf, SavedQueries, type SavedQueriesProps, type SavedQuery, textOf } from './saved-queries';

/** Width of a graph in CloudWatch's 24-column grid. Three graphs fit side by side. */
const WIDTH = 8;
const HEIGHT = 6;
const FULL_WIDTH = 24;

/** A group of graphs that answer one question. */
export interface DashboardSection {
  readonly heading: string;
  readonly asks: string;
  readonly graphs: readonly IWidget[];
}

/** Where an app shows a queue's alarms: on a dashboard, through a topic, or both. */
export interface Presentation {
  readonly dashboard: boolean;
  /**
   * The topic that alarms publish to.
   * @default - none; alarms appear only in the CloudWatch console
   */
  readonly alarmTopic?: ITopic;
}

/** The parts of a queue that {@link present} shows. */
interface Shown extends SavedQueriesProps {
  readonly alarms: readonly Alarm[];
  /** Returns the dashboard sections, most urgent first. */
  readonly sections: () => readonly DashboardSection[];
}

/** Adds a queue's saved queries and alarm actions, and returns its dashboard if there is one. */
export function present(
  scope: Construct,
  { dashboard, alarmTopic }: Presentation,
  { alarms, sections, ...queries }: Shown,
): QueueDashboard | undefined {
  new SavedQueries(scope, 'queries', queries);
  if (alarmTopic !== undefined) {
    for (const alarm of alarms) alarm.addAlarmAction(new SnsAction(alarmTopic));
  }
  return dashboard ? new QueueDashboard(scope, alarms, sections()) : undefined;
}

/**
 * Dashboard of a queue. CloudWatch charges 3 USD per month for it. The free tier covers three dashboards per account
 * with up to 50 metrics each. CloudWatch also bills the bytes that log query graphs scan while the dashboard is open.
 */
export class QueueDashboard extends Dashboard {
  constructor(scope: Construct, alarms: readonly Alarm[], sections: readonly DashboardSection[]) {
    super(scope, 'dashboard', {
      defaultInterval: Duration.hours(3),
      // Each graph keeps its period, so that thresholds apply at every zoom level.
      periodOverride: PeriodOverride.INHERIT,
      widgets: [
        [new AlarmStatusWidget({ title: 'Alarms', alarms: [...alarms], width: FULL_WIDTH, height: 4 })],
        ...sections.flatMap(({ heading, asks, graphs }) => [[title(heading, asks)], [...graphs]]),
      ],
    });
  }

  get url(): string {
    const { region } = Stack.of(this);
    return `https://${region}.console.aws.amazon.com/cloudwatch/home?region=${region}#dashboards/dashboard/${this.dashboardName}`;
  }
}

export function graph(title: string, left: readonly IMetric[], right: readonly IMetric[] = []): IWidget {
  return new GraphWidget({
    title,
    left: [...left],
    right: [...right],
    leftYAxis: { min: 0 },
    rightYAxis: { min: 0 },
    width: WIDTH,
    height: HEIGHT,
  });
}

/** Returns a graph of alarm metrics with their thresholds. Alarms with equal thresholds share one line. */
export function alarmGraph(title: string, alarms: readonly Alarm[], more: readonly IMetric[] = []): IWidget {
  const thresholds = new Map(alarms.map((alarm) => [alarm.toAnnotation().value, alarm.toAnnotation()]));
  return new GraphWidget({
    title,
    left: [...alarms.map((alarm) => labelled(alarm.metric, nameOf(alarm))), ...more],
    leftAnnotations: [...thresholds.values()],
    leftYAxis: { min: 0 },
    width: WIDTH,
    height: HEIGHT,
  });
}

export function queryGraph(
  title: string,
  query: SavedQuery,
  functions: Readonly<Record<string, RustFunction>>,
): IWidget {
  return new LogQueryWidget({
    title,
    logGroupNames: logGroupsOf(functions, query.of).map(({ logGroupName }) => logGroupName),
    queryString: textOf(query),
    view: LogQueryVisualizationType.LINE,
    width: WIDTH,
    height: HEIGHT,
  });
}

/** Returns `metric` with `label` as its name in the legend. */
export function labelled(metric: IMetric, label: string): IMetric {
  if (metric instanceof Metric || metric instanceof MathExpression) return metric.with({ label });
  return metric;
}

function title(heading: string, asks: string): IWidget {
  return new TextWidget({
    markdown: `## ${heading}\n${asks}`,
    background: TextWidgetBackground.TRANSPARENT,
    width: FULL_WIDTH,
    height: 2,
  });
}

function nameOf({ node }: Alarm): string {
  return node.id.replace(/-alarm$/, '');
}
