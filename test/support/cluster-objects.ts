import type { Sender } from './http.js';
import { aCluster, type KubernetesApi } from './kubernetes-api.js';
import { versionsIn } from './matchers.js';
import { aService, type ServiceUnderTest } from './service.js';

/** The annotations that export an object as an entry, and more. */
export function exported(name: string, more: Record<string, string> = {}): Record<string, string> {
  return {
    'registry-export': 'true',
    'registry-url': `https://mcp.example.com/${name}`,
    'registry-description': `The server ${name}`,
    ...more,
  };
}

/** Points a service at a cluster. */
export function watching(cluster: KubernetesApi, service: ServiceUnderTest): ServiceUnderTest {
  service.environment['REGISTRY_KUBECONFIG'] = cluster.kubeconfig;
  return service;
}

/**
 * A cluster, and a service whose registry `main` mirrors it; both run during the tests of the file or group.
 */
export function aWatchedCluster(): { cluster: KubernetesApi; service: ServiceUnderTest } {
  const cluster = aCluster().runs();
  const service = watching(cluster, aService())
    .source('cluster', { kind: 'kubernetes' })
    .registry('main', { sources: ['cluster'] })
    .runs();
  return { cluster, service };
}

/** The cluster's entries visible to a caller, as `namespace/name@version`. */
export async function listed(sender: Sender, registry = 'main'): Promise<string[]> {
  const versions = versionsIn(await sender.get(`/registry/${registry}/v0.1/servers?limit=100`));
  return versions.map((version) => version.replace(/^com\.toolhive\.k8s\./, ''));
}

export interface SyncAnswer {
  status: string;
  lastSuccessAt: string | null;
  attempts: number;
  error?: string;
  counts: Record<string, number>;
  skipped: { name: string; version: string; reasons: string[] }[];
}

/** The admin API's sync report of a source. */
export async function syncOf(sender: Sender, source = 'cluster'): Promise<SyncAnswer> {
  return ((await sender.get(`/v1/sources/${source}`)).json as { sync: SyncAnswer }).sync;
}
