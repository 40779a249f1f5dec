import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig } from '../../dist/config/load-config.js';
import { API_GROUP, RESOURCES } from '../../dist/sync/kubernetes/custom-resources.js';

const REPOSITORY = resolve(import.meta.dirname, '../..');
const ROOT = join(REPOSITORY, 'deploy/kubernetes');
const HEALTH_CHECK = join(REPOSITORY, 'deploy/health-check.mjs');

interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string };
  data: Record<string, string>;
  rules: { apiGroups: string[]; resources: string[]; verbs: string[] }[];
  roleRef: { name: string };
  subjects: { name: string; namespace: string }[];
  spec: {
    podSelector: unknown;
    selector: unknown;
    policyTypes: string[];
    ingress: { from: { namespaceSelector: { matchLabels: object } }[]; ports: { port: string }[] }[];
    egress: { to?: object[]; ports: { port: number }[] }[];
    template: {
      metadata: { labels: unknown };
      spec: {
        serviceAccountName: string;
        terminationGracePeriodSeconds: number;
        topologySpreadConstraints: { labelSelector: unknown }[];
        volumes: { name: string; emptyDir?: object }[];
        containers: {
          image: string;
          volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
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

it("the role grants what the watch requests and is bound to the deployment's service account", async () => {
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

it("the deployment's configuration loads with the files of its pod", async () => {
  const registry = await manifests('registry.yaml');
  const text = registry('ConfigMap').data['registry.yaml'] ?? '';
  const secrets = [...text.matchAll(/\/run\/secrets\/\S+/g)].map(([path]) => path);
  const { mountPath } = registry('Deployment').spec.template.spec.containers[0]?.volumeMounts[1] ?? {
    mountPath: '',
  };
  expect(secrets).toEqual([`${mountPath}/ca.crt`, `${mountPath}/password`]);
  const pod = await mkdtemp(join(tmpdir(), 'registry-pod-'));
  await writeFile(join(pod, 'password'), 'a secret');
  await writeFile(join(pod, 'ca.crt'), '-----BEGIN CERTIFICATE-----');
  await writeFile(join(pod, 'registry.yaml'), text.replaceAll(mountPath, pod));
  const { config, warnings } = loadConfig(join(pod, 'registry.yaml'), {}, {});
  await rm(pod, { recursive: true });
  expect(warnings).toEqual([]);
  expect(config.sources).toMatchObject([
    { name: 'cluster', kind: 'kubernetes', settings: { namespaces: [] } },
  ]);
});

it('the image is pinned to a version and digest', async () => {
  const [container] = (await manifests('registry.yaml'))('Deployment').spec.template.spec.containers;
  const { version } = JSON.parse(await readFile(join(REPOSITORY, 'package.json'), 'utf8')) as {
    version: string;
  };
  expect(container?.image).toBe(`registry.example.com/registry-server:${version}@sha256:${'0'.repeat(64)}`);
});

it('every image in Compose is pinned to a version', async () => {
  const compose = parse(await readFile(join(REPOSITORY, 'docker-compose.yml'), 'utf8')) as {
    services: Record<string, { image?: string }>;
  };
  const images = Object.values(compose.services).flatMap(({ image }) => (image === undefined ? [] : [image]));
  expect(images.filter((image) => !/:v?\d/.test(image))).toEqual([]);
});

it('no service in Compose combines limits under deploy with the older keys, which Docker Compose refuses', async () => {
  const compose = parse(await readFile(join(REPOSITORY, 'docker-compose.yml'), 'utf8')) as {
    services: Record<string, { deploy?: { resources?: object } }>;
  };
  const limited = Object.values(compose.services).filter(({ deploy }) => deploy?.resources !== undefined);
  expect(limited.length).toBeGreaterThan(0);
  for (const service of limited)
    for (const key of ['cpus', 'mem_limit', 'mem_reservation', 'pids_limit'])
      expect(service).not.toHaveProperty(key);
});

it("the heap gets half of the pod's memory and runs out before the pod is killed", async () => {
  const [container] = (await manifests('registry.yaml'))('Deployment').spec.template.spec.containers;
  const options = container?.env.find(({ name }) => name === 'NODE_OPTIONS')?.value ?? '';
  const [, heap] = /--max-old-space-size=(\d+)/.exec(options) ?? [];
  const [, memory] = /^(\d+)Mi$/.exec(container?.resources.limits.memory ?? '') ?? [];
  expect(Number(heap)).toBe(Number(memory) / 2);
});

it("only listed namespaces reach the deployment's pods", async () => {
  const registry = await manifests('registry.yaml');
  const { podSelector, policyTypes, ingress } = registry('NetworkPolicy').spec;
  expect(registry('NetworkPolicy').metadata.namespace).toBe(registry('Deployment').metadata.namespace);
  expect(podSelector).toEqual({ matchLabels: registry('Deployment').spec.template.metadata.labels });
  expect(policyTypes).toContain('Ingress');
  expect(ingress.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual(['http', 'internal']);
  // An empty list of peers, or an empty selector, admits everyone.
  for (const { from } of ingress) {
    expect(from.length).toBeGreaterThan(0);
    for (const { namespaceSelector } of from)
      expect(Object.keys(namespaceSelector.matchLabels).length).toBeGreaterThan(0);
  }
});

it("the deployment's pods reach only DNS, the database and the Kubernetes API", async () => {
  const { policyTypes, egress } = (await manifests('registry.yaml'))('NetworkPolicy').spec;
  expect(policyTypes).toContain('Egress');
  expect(egress.map(({ ports }) => ports.map(({ port }) => port))).toEqual([[53, 53], [5432], [443, 6443]]);
  const [names, database] = egress;
  for (const { to = [] } of [names, database].filter((rule) => rule !== undefined))
    expect(to.length).toBeGreaterThan(0);
});

it("the disruption budget and the topology spread select the deployment's pods", async () => {
  const registry = await manifests('registry.yaml');
  const selector = { matchLabels: registry('Deployment').spec.template.metadata.labels };
  expect(registry('PodDisruptionBudget').spec.selector).toEqual(selector);
  const { topologySpreadConstraints } = registry('Deployment').spec.template.spec;
  expect(topologySpreadConstraints.map(({ labelSelector }) => labelSelector)).toEqual([selector, selector]);
});

it('git sources have a writable /tmp on disk despite the read-only root file system', async () => {
  const { volumes, containers } = (await manifests('registry.yaml'))('Deployment').spec.template.spec;
  const mount = containers[0]?.volumeMounts.find(({ mountPath }) => mountPath === '/tmp');
  expect(mount?.readOnly ?? false).toBe(false);
  const volume = volumes.find(({ name }) => name === mount?.name);
  expect(volume?.emptyDir).toBeDefined();
  // A memory medium would count against the pod's limit.
  expect(volume?.emptyDir).not.toHaveProperty('medium');
  const compose = parse(await readFile(join(REPOSITORY, 'docker-compose.yml'), 'utf8')) as {
    services: { registry: { read_only: boolean; volumes: string[] } };
    volumes: Record<string, unknown>;
  };
  const { read_only: readOnly, volumes: mounted } = compose.services.registry;
  expect(readOnly).toBe(true);
  const [temporary = ''] = mounted.filter((one) => one.endsWith(':/tmp')).map((one) => one.split(':')[0]);
  expect(Object.keys(compose.volumes)).toContain(temporary);
});

it("the image's health check uses the address from the command line", async () => {
  const server = createServer((request, response) =>
    response.writeHead(request.url === '/health' ? 200 : 503).end(),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const folder = await mkdtemp(join(tmpdir(), 'registry-health-'));
  const asked = async (question: string, ...flags: string[]) => {
    const commandLine = join(folder, randomUUID());
    await writeFile(
      commandLine,
      ['tini', '--', 'node', '--max-semi-space-size=8', 'dist/main.js', 'serve', ...flags, ''].join('\0'),
    );
    const run = promisify(execFile)(process.execPath, [HEALTH_CHECK, question, commandLine]);
    return run.then(
      () => 'good',
      () => 'bad',
    );
  };
  expect(
    await Promise.all([
      asked('health', '--internal-address', `:${port}`, '--config', 'x'),
      asked('health', `--internal-address=127.0.0.1:${port}`),
      asked('readiness', '--internal-address', `:${port}`),
      asked('health', '--internal-address', ':1'),
    ]),
  ).toEqual(['good', 'good', 'bad', 'bad']);
  server.close();
  await rm(folder, { recursive: true });
  // The path that the image and compose use.
  const dockerfile = await readFile(join(REPOSITORY, 'Dockerfile'), 'utf8');
  expect(dockerfile).toContain('COPY package.json LICENSE deploy/health-check.mjs ./');
  expect(dockerfile).toContain('CMD ["node", "health-check.mjs"]');
  // Node as process 1 would not reap orphaned processes.
  expect(dockerfile).toContain(
    'ENTRYPOINT ["tini", "--", "node", "--max-semi-space-size=8", "dist/main.js"]',
  );
  expect(dockerfile).toMatch(/apt-get install .* tini /);
  // Git over ssh needs the name of its user.
  expect(dockerfile).toContain('useradd --uid 1000');
});
