/** Names of OpenTelemetry's conventions that contain dots; Prometheus writes underscores for them. */
const CONVENTIONS = [
  'http.server.request.duration',
  'http.server.active_requests',
  'db.client.connection.count',
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
 * The name and unit by which OpenTelemetry knows a metric of Prometheus:
 * https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/. A collector that turns it into one for
 * Prometheus again arrives at the name it had, so the same dashboards serve both ways.
 */
export function otlpName(prometheusName: string): { name: string; unit: string } {
  const counted = prometheusName.replace(/_total$/, '');
  const [suffix = ''] = /_(seconds|bytes)$/.exec(counted) ?? [];
  const name = suffix === '' ? counted : counted.slice(0, -suffix.length);
  return { name: BY_NAME.get(name) ?? name, unit: UNITS[suffix] ?? '' };
}

/** Likewise, the name of an attribute. */
export function otlpLabel(label: string): string {
  return BY_LABEL.get(label) ?? label;
}
