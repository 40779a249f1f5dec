import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { loadConfig } from '../../dist/config/load-config.js';
import { API_GROUP, RESOURCES } from '../../dist/kubernetes/resources.js';

const ROOT = resolve(import.meta.dirname, '../../deploy/kubernetes');

interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string };
  data: Record<string, string>;
  rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
  roleRef: { name: string };
  subjects: { name: string; namespace: string }[];
  spec: {
    podSelector: unknown;
    policyTypes: string[];
    ingress: { from: { namespaceSelector: { matchLabels: object } }[]; ports: { port: string }[] }[];
    template: {
      metadata: { labels: unknown };
      spec: {
        serviceAccountName: string;
        containers: {
          image: string;
          imagePullPolicy: string;
          volumeMounts: { mountPath: string }[];
          env: { name: string; value: string }[];
          resources: { limits: { memory: string } };
        }[];
      };
    };
  };
}

async function manifests(file: string): Promise<(kind: string) => Manifest> {
  const all = parseAllDocuments(await readFile(join(ROOT, file), 'utf8')).map(
    (one) => one.toJS() as Manifest,
  );
  return (kind) => {
    const found = all.find((one) => one.kind === kind);
    if (!found) throw new Error(`${file} has no ${kind}`);
    return found;
  };
}

it('the role allows what the watch asks for, and is bound to the account of the deployment', async () => {
  const rbac = await manifests('rbac.yaml');
  expect(rbac('ClusterRole').rules).toEqual([
    {
      apiGroups: [API_GROUP],
      resources: RESOURCES.map(({ plural }) => plural),
      verbs: ['list', 'watch'],
    },
  ]);
  const { name, namespace = '' } = rbac('ServiceAccount').metadata;
  expect(rbac('ClusterRoleBinding')).toMatchObject({
    roleRef: { name: rbac('ClusterRole').metadata.name },
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  });
  const deployment = (await manifests('registry.yaml'))('Deployment');
  expect(deployment.spec.template.spec.serviceAccountName).toBe(name);
  expect(deployment.metadata.namespace).toBe(namespace);
});

it('the configuration of the deployment loads where the files of its pod are', async () => {
  const registry = await manifests('registry.yaml');
  const text = registry('ConfigMap').data['registry.yaml'] ?? '';
  const [secret] = /\/run\/secrets\/\S+/.exec(text) ?? [''];
  const { mountPath } = registry('Deployment').spec.template.spec.containers[0]?.volumeMounts[1] ?? {
    mountPath: '',
  };
  expect(secret).toBe(`${mountPath}/password`);
  const pod = await mkdtemp(join(tmpdir(), 'registry-pod-'));
  await writeFile(join(pod, 'password'), 'a secret');
  await writeFile(join(pod, 'registry.yaml'), text.replace(secret, join(pod, 'password')));
  const { config, warnings } = loadConfig(join(pod, 'registry.yaml'), {}, {});
  await rm(pod, { recursive: true });
  expect(warnings).toEqual([]);
  expect(config.sources).toMatchObject([
    { name: 'cluster', kind: 'kubernetes', settings: { namespaces: [] } },
  ]);
});

it('an image that was made on the machine is run, though its tag is "latest"', async () => {
  const [container] = (await manifests('registry.yaml'))('Deployment').spec.template.spec.containers;
  // Without a policy, Kubernetes asks a registry of images for each "latest".
  expect(container).toMatchObject({ image: 'registry-server:latest', imagePullPolicy: 'IfNotPresent' });
});

it('the heap has half of the memory of the pod, and ends before the pod is killed', async () => {
  const [container] = (await manifests('registry.yaml'))('Deployment').spec.template.spec.containers;
  const options = container?.env.find(({ name }) => name === 'NODE_OPTIONS')?.value ?? '';
  const [, heap] = /--max-old-space-size=(\d+)/.exec(options) ?? [];
  const [, memory] = /^(\d+)Mi$/.exec(container?.resources.limits.memory ?? '') ?? [];
  expect(Number(heap)).toBe(Number(memory) / 2);
});

it('only namespaces that are named reach the pods of the deployment', async () => {
  const registry = await manifests('registry.yaml');
  const { podSelector, policyTypes, ingress } = registry('NetworkPolicy').spec;
  expect(registry('NetworkPolicy').metadata.namespace).toBe(registry('Deployment').metadata.namespace);
  expect(podSelector).toEqual({ matchLabels: registry('Deployment').spec.template.metadata.labels });
  expect(policyTypes).toContain('Ingress');
  expect(ingress.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual(['http', 'internal']);
  // An empty list of peers, and an empty selector, would let everybody in.
  for (const { from } of ingress) {
    expect(from.length).toBeGreaterThan(0);
    for (const { namespaceSelector } of from)
      expect(Object.keys(namespaceSelector.matchLabels).length).toBeGreaterThan(0);
  }
});
