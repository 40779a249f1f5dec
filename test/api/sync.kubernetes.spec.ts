import { describe, expect, it } from 'vitest';
import { aCluster, type KubernetesApi } from '../support/kubernetes-api.js';
import type { Sender } from '../support/http.js';
import { versionsIn } from '../support/matchers.js';
import { aService, type ServiceUnderTest } from '../support/service.js';
import { within } from '../support/within.js';

const SECOND = 1_000;

/** What an object needs to be an entry. */
const exported = (name: string, more: Record<string, string> = {}) => ({
  'registry-export': 'true',
  'registry-url': `https://mcp.example.com/${name}`,
  'registry-description': `The server ${name}`,
  ...more,
});

function watching(service: ServiceUnderTest, cluster: KubernetesApi): ServiceUnderTest {
  service.environment['REGISTRY_KUBECONFIG'] = cluster.kubeconfig;
  return service;
}

const list = async (service: Sender, registry = 'main') =>
  versionsIn(await service.get(`/registry/${registry}/v0.1/servers?limit=100`));

describe('a source of a cluster', () => {
  const cluster = aCluster().runs();
  const service = watching(aService(), cluster)
    .source('cluster', { kind: 'kubernetes' })
    .registry('main', { sources: ['cluster'] })
    .runs();
  const sees = (names: string[]) => within(SECOND, async () => expect(await list(service)).toEqual(names));

  it('follows what is created, changed, no longer exported and deleted, within a second', async () => {
    await sees([]);
    cluster.put('MCPServer', 'tools/weather', exported('weather'), { image: 'ghcr.io/acme/weather:1.2.3' });
    await sees(['com.toolhive.k8s.tools/weather@1.2.3']);
    cluster.put('MCPServer', 'tools/weather', exported('weather', { 'registry-version': '2.0.0' }));
    await sees(['com.toolhive.k8s.tools/weather@2.0.0']);
    cluster.put('VirtualMCPServer', 'tools/all', exported('all'));
    cluster.put('MCPRemoteProxy', 'data/proxy', exported('proxy'));
    await sees([
      'com.toolhive.k8s.data/proxy@1.0.0',
      'com.toolhive.k8s.tools/all@1.0.0',
      'com.toolhive.k8s.tools/weather@2.0.0',
    ]);
    cluster.put('MCPServer', 'tools/weather', exported('weather', { 'registry-export': 'True' }));
    await sees(['com.toolhive.k8s.data/proxy@1.0.0', 'com.toolhive.k8s.tools/all@1.0.0']);
    cluster.delete('VirtualMCPServer', 'tools/all');
    cluster.delete('MCPRemoteProxy', 'data/proxy');
    await sees([]);
  });
});
