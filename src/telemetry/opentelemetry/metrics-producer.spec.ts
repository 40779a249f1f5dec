import { expect, it } from 'vitest';
import { otlpLabel, otlpName } from './metrics-producer.js';

it.each([
  ['http_server_request_duration_seconds', 'http.server.request.duration', 's'],
  ['http_server_active_requests', 'http.server.active_requests', ''],
  ['db_client_connections', 'db.client.connections', ''],
  ['registry_sync_runs_total', 'registry_sync_runs', ''],
  ['process_cpu_seconds_total', 'process_cpu', 's'],
  ['process_resident_memory_bytes', 'process_resident_memory', 'By'],
  ['registry_build_info', 'registry_build_info', ''],
])('%s is sent as %s with unit %j', (name, sent, unit) =>
  expect(otlpName(name)).toEqual({ name: sent, unit }),
);

it.each([
  ['http_route', 'http.route'],
  ['outcome', 'outcome'],
])('the label %s is sent as %s', (label, sent) => expect(otlpLabel(label)).toBe(sent));
