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
import { API_GROUP, RESOURCES } from '../../dist/kubernetes/custom-resources.js';

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
    template: {
      metadata: { labels: unknown };
      spec: {
        serviceAccountName: string;
        terminationGracePeriodSeconds: number;
        topologySpreadConstraints: { labelSelector: unknown }[];
        volumes: { name: string; emptyDir?: object }[];
        containers: {
          image: string;
          imagePullPolicy: string;
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

it('the budget for disruptions and the spread over nodes are about the pods of the deployment', async () => {
  const registry = await manifests('registry.yaml');
  const selector = { matchLabels: registry('Deployment').spec.template.metadata.labels };
  expect(registry('PodDisruptionBudget').spec.selector).toEqual(selector);
  const { topologySpreadConstraints } = registry('Deployment').spec.template.spec;
  expect(topologySpreadConstraints.map(({ labelSelector }) => labelSelector)).toEqual([selector, selector]);
});

it('sources of kind git have a writable /tmp, which is on the disk, though the file system is read-only', async () => {
  const { volumes, containers } = (await manifests('registry.yaml'))('Deployment').spec.template.spec;
  const mount = containers[0]?.volumeMounts.find(({ mountPath }) => mountPath === '/tmp');
  expect(mount?.readOnly ?? false).toBe(false);
  const volume = volumes.find(({ name }) => name === mount?.name);
  expect(volume?.emptyDir).toBeDefined();
  // A medium of memory would count against the limit of the pod.
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

it('the health check of the image asks where the command line says that the server listens', async () => {
  const server = createServer((request, response) =>
    response.writeHead(request.url === '/health' ? 200 : 503).end(),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const folder = await mkdtemp(join(tmpdir(), 'registry-health-'));
  const asked = async (question: string, ...flags: string[]) => {
    const commandLine = join(folder, randomUUID());
    await writeFile(commandLine, ['tini', '--', 'node', 'dist/main.js', 'serve', ...flags, ''].join('\0'));
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
  // It is where the image, and compose, look for it.
  const dockerfile = await readFile(join(REPOSITORY, 'Dockerfile'), 'utf8');
  expect(dockerfile).toContain('COPY package.json LICENSE deploy/health-check.mjs ./');
  expect(dockerfile).toContain('CMD ["node", "health-check.mjs"]');
  // Node alone, as the first process of a container, would let processes that outlive their parent stand for ever.
  expect(dockerfile).toContain('ENTRYPOINT ["tini", "--", "node", "dist/main.js"]');
  expect(dockerfile).toMatch(/apt-get install .* tini /);
});
