import { type Attributes, ValueType } from '@opentelemetry/api';
import { millisToHrTime } from '@opentelemetry/core';
import type { Resource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  type DataPoint,
  DataPointType,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { MetricObjectWithValues, MetricValue, MetricValueWithName } from 'prom-client';
import type { Metrics } from '../metrics.js';

/** Dotted names from OpenTelemetry's conventions; Prometheus names have underscores instead. */
const CONVENTIONS = [
  'http.server.request.duration',
  'http.server.active_requests',
  'db.client.connections',
  'db.client.connection.max',
  'db.client.connection.pending_requests',
];
const LABELS = [
  'http.request.method',
  'http.response.status_code',
  'http.route',
  'db.client.connection.pool.name',
  'db.client.connection.state',
];
const underscored = (names: readonly string[]) =>
  new Map(names.map((name) => [name.replaceAll('.', '_'), name]));
const BY_NAME = underscored(CONVENTIONS);
const BY_LABEL = underscored(LABELS);
const UNITS: Readonly<Record<string, string>> = { _seconds: 's', _bytes: 'By' };

/**
 * Converts a Prometheus metric name to OpenTelemetry's name and unit:
 * https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/. A collector that exports to
 * Prometheus restores the original name, so dashboards work with both.
 */
export function otlpName(prometheusName: string): { name: string; unit: string } {
  const counted = prometheusName.replace(/_total$/, '');
  const [suffix = ''] = /_(seconds|bytes)$/.exec(counted) ?? [];
  const name = suffix === '' ? counted : counted.slice(0, -suffix.length);
  return { name: BY_NAME.get(name) ?? name, unit: UNITS[suffix] ?? '' };
}

/** Converts a Prometheus label to an attribute name. */
export function otlpLabel(label: string): string {
  return BY_LABEL.get(label) ?? label;
}

type Family = MetricObjectWithValues<MetricValue<string>>;

/** Exports the metrics of `/metrics` over OTLP, so that no metric is counted in two places. */
export class MetricsProducer implements MetricProducer {
  private readonly startTime = millisToHrTime(Date.now());

  constructor(
    private readonly metrics: Metrics,
    private readonly resource: Resource,
  ) {}

  async collect(): Promise<CollectionResult> {
    const endTime = millisToHrTime(Date.now());
    const families = await this.metrics.families();
    const metrics = families.flatMap((family) => this.metricOf(family, endTime) ?? []);
    return {
      resourceMetrics: {
        resource: this.resource,
        scopeMetrics: [{ scope: { name: 'registry-server' }, metrics }],
      },
      errors: [],
    };
  }

  private metricOf(family: Family, endTime: DataPoint<number>['endTime']): MetricData | null {
    const times = { startTime: this.startTime, endTime };
    const type = String(family.type);
    const base = {
      descriptor: { ...otlpName(family.name), description: family.help, valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
    };
    const points = () =>
      family.values.map(({ labels, value }) => ({ ...times, attributes: attributesOf(labels), value }));
    if (type === 'counter')
      return { ...base, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: points() };
    if (type === 'gauge') return { ...base, dataPointType: DataPointType.GAUGE, dataPoints: points() };
    if (type !== 'histogram') return null;
    const dataPoints = [...seriesOf(family).values()].map(
      ({ attributes, boundaries, cumulative, count, sum }) => ({
        ...times,
        attributes,
        value: {
          buckets: { boundaries, counts: [...cumulative, count].map((n, at, all) => n - (all[at - 1] ?? 0)) },
          count,
          sum,
        },
      }),
    );
    return { ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints };
  }
}

interface Series {
  readonly attributes: Attributes;
  readonly boundaries: number[];
  /** Cumulative counts per boundary. */
  readonly cumulative: number[];
  count: number;
  sum: number;
}

function seriesOf({ name, values }: Family): Map<string, Series> {
  const found = new Map<string, Series>();
  for (const { labels: all, value, metricName } of values as MetricValueWithName<string>[]) {
    const { le, ...labels } = all;
    const key = JSON.stringify(labels);
    const series = found.get(key) ?? {
      attributes: attributesOf(labels),
      boundaries: [],
      cumulative: [],
      count: 0,
      sum: 0,
    };
    found.set(key, series);
    if (metricName === `${name}_sum`) series.sum = value;
    else if (metricName === `${name}_count`) series.count = value;
    else if (le !== undefined && le !== '+Inf') {
      series.boundaries.push(Number(le));
      series.cumulative.push(value);
    }
  }
  return found;
}

function attributesOf(labels: Partial<Record<string, string | number>>): Attributes {
  return Object.fromEntries(Object.entries(labels).map(([name, value]) => [otlpLabel(name), value]));
}
