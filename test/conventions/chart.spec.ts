import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig } from '../../dist/config/load-config.js';
import { API_GROUP, RESOURCES } from '../../dist/sync/kubernetes/custom-resources.js';
import { type KubernetesObject, problemsOf } from '../support/kubernetes-schema.js';

const ROOT = resolve(import.meta.dirname, '../..');
const CHART = join(ROOT, 'deploy/helm/registry-server');
const RENDERED = join(import.meta.dirname, 'chart');
const { chartDigest } = (await import(join(ROOT, 'scripts/chart.mjs'))) as { chartDigest(): string };
const textOf = (...path: string[]) => readFileSync(join(...path), 'utf8');

interface Schema {
  readonly properties?: Record<string, Schema>;
  readonly additionalProperties?: unknown;
}
type Values = Record<string, unknown>;

const schema = JSON.parse(textOf(CHART, 'values.schema.json')) as Schema;
const defaults = parse(textOf(CHART, 'values.yaml')) as Values;
const accepts = new Ajv({ strict: false }).compile(schema);
const SETS = readdirSync(join(CHART, 'ci')).map((file) => file.replace('-values.yaml', ''));

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Merges values over defaults as Helm does. */
function over(below: Values, above: Values): Values {
  const merged = Object.entries(above).map(([key, value]) => {
    const other = below[key];
    return [key, isObject(value) && isObject(other) ? over(other, value) : value] as const;
  });
  return { ...below, ...Object.fromEntries(merged) };
}

/** Each value with its path, down to the deepest members in the schema. */
function pathsOf(values: Values, at: Schema, path: string[] = []): string[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const below = at.properties?.[key];
    return isObject(value) && below?.properties
      ? pathsOf(value, below, [...path, key])
      : [[...path, key].join('.')];
  });
}

function pathsIn(at: Schema, path: string[] = []): string[] {
  return Object.entries(at.properties ?? {}).flatMap(([key, below]) =>
    below.properties ? pathsIn(below, [...path, key]) : [[...path, key].join('.')],
  );
}

describe('the values of the Helm chart', () => {
  it('and the schema have the same members', () => {
    const fromOutside = [
      'global',
      'database.cloudnativepg.resources.limits',
      'database.cloudnativepg.resources.requests',
    ];
    const named = pathsIn(schema).filter((path) => !fromOutside.includes(path));
    const known = pathsOf(defaults, schema).filter((path) => path !== 'database.cloudnativepg.resources');
    expect(known.sort()).toEqual(named.sort());
  });

  it.each(SETS)('are accepted: %s', (set) => {
    const values = over(defaults, (parse(textOf(CHART, 'ci', `${set}-values.yaml`)) ?? {}) as Values);
    accepts(values);
    expect(accepts.errors ?? []).toEqual([]);
  });

  it.each([
    ['a misspelled value', { replica: 3 }],
    ['a misspelled nested value', { database: { external: { hostname: 'db' } } }],
    ['an invalid digest', { image: { digest: 'latest' } }],
    ['root', { podSecurityContext: { runAsUser: 0 } }],
    ['a volume without a name', { extraVolumes: [{ emptyDir: {} }] }],
  ])('are refused: %s', (_what, values) => {
    expect(accepts(over(defaults, values))).toBe(false);
  });

  it('are refused by the templates only for reasons that scripts/chart.mjs tests', () => {
    const refusals = parse(textOf(import.meta.dirname, 'chart-refusals.yaml')) as { because: string }[];
    const sentences = [
      ...textOf(CHART, 'templates/_check.tpl').matchAll(/append \$problems \(?(?:printf )?"([^"%]+)/g),
    ].map(([, beginning = '']) => beginning);
    expect(sentences.length).toBeGreaterThan(10);
    const provoked = (sentence: string) => refusals.some(({ because }) => because.startsWith(sentence));
    expect(sentences.filter((sentence) => !provoked(sentence))).toEqual([]);
    const templates = readdirSync(join(CHART, 'templates'), { recursive: true, encoding: 'utf8' });
    const failing = templates.filter(
      (file) => /\.(yaml|tpl)$/.test(file) && /\b(fail|required) [("]/.test(textOf(CHART, 'templates', file)),
    );
    expect(failing).toEqual(['_check.tpl']);
  });
});

interface Container {
  readonly name: string;
  readonly args: string[];
  readonly command?: string[];
  readonly env?: { name: string; value: string }[];
  readonly envFrom?: object[];
  readonly ports: { name: string; containerPort: number }[];
  readonly volumeMounts: { name: string; mountPath: string }[];
}
interface Pod {
  readonly automountServiceAccountToken: boolean;
  readonly serviceAccountName: string;
  readonly securityContext: object;
  readonly initContainers?: Container[];
  readonly containers: Container[];
  readonly volumes: { name: string; projected?: object }[];
}
interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly annotations?: object };
  readonly data: Record<string, string>;
  readonly rules: unknown;
  readonly subjects: unknown;
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly spec: {
    readonly replicas?: number;
    readonly minReplicas: number;
    readonly maxReplicas: number;
    readonly scaleTargetRef: { readonly name: string };
    readonly groups: { rules: { expr: string }[] }[];
    readonly podSelector: { readonly matchLabels: Record<string, string> };
    readonly selector: Record<string, string>;
    readonly policyTypes: string[];
    readonly ingress?: { from: unknown; ports: { port: string }[] }[];
    readonly egress: { to?: object[]; ports: { port: number }[] }[];
    readonly template: { readonly metadata: { readonly labels: Record<string, string> }; readonly spec: Pod };
  };
}

function rendered(set: string): (kind: string) => Rendered[] {
  const all = parseAllDocuments(textOf(RENDERED, `${set}.yaml`)).map((one) => one.toJS() as Rendered);
  return (kind) => all.filter((one) => one.kind === kind);
}

const policyOf = (set: string, suffix = '') =>
  rendered(set)('NetworkPolicy').find(
    ({ metadata }) => metadata.name === `registry-registry-server${suffix}`,
  );

describe('the manifests sent to Kubernetes', () => {
  const OF_OTHERS = ['Cluster', 'HTTPRoute', 'PrometheusRule', 'ServiceMonitor'];
  const files = [
    ...SETS.map((set) => join(RENDERED, `${set}.yaml`)),
    ...['rbac', 'registry'].map((name) => join(ROOT, `deploy/kubernetes/${name}.yaml`)),
  ];

  it.each(files)('have only known members of the right types: %s', (file) => {
    const objects = parseAllDocuments(textOf(file)).map((one) => one.toJS() as KubernetesObject);
    expect(objects.length).toBeGreaterThan(2);
    for (const object of objects) {
      const problems = problemsOf(object);
      if (problems === null) expect(OF_OTHERS).toContain(object.kind);
      else expect(problems).toEqual([]);
    }
  });

  it.each([
    [{ spec: { replica: 2 } }, 'Deployment.spec.replica is unknown'],
    [{ spec: { replicas: '2' } }, 'Deployment.spec.replicas is not a number'],
    [
      { spec: { template: { spec: { containers: [{ image: 1 }] } } } },
      'Deployment.spec.template.spec.containers[0].image is not a string',
    ],
    [{ metadata: { labels: { a: true } } }, 'Deployment.metadata.labels.a is not a string'],
  ])('are reported when wrong: %j', (more, problem) => {
    expect(problemsOf({ apiVersion: 'apps/v1', kind: 'Deployment', ...more })).toEqual([problem]);
  });
});

describe('the rendered chart', () => {
  let folder = '';
  beforeAll(async () => (folder = await mkdtemp(join(tmpdir(), 'registry-chart-'))));
  afterAll(() => rm(folder, { recursive: true }));

  it('is up to date with the chart: node scripts/chart.mjs --update', () => {
    expect(textOf(RENDERED, 'digest.txt').trim()).toBe(chartDigest());
    const files = readdirSync(RENDERED).filter((file) => file.endsWith('.yaml'));
    expect(files.sort()).toEqual(SETS.map((set) => `${set}.yaml`).sort());
  });

  it.each(SETS)('has a configuration that loads, with files where the pod mounts them: %s', async (set) => {
    const [configMap] = rendered(set)('ConfigMap');
    const [deployment] = rendered(set)('Deployment');
    const [container] = deployment?.spec.template.spec.containers ?? [];
    const text = configMap?.data['registry.yaml'] ?? '';
    const mounted = container?.volumeMounts.map(({ mountPath }) => `${mountPath}/`) ?? [];
    for (const [file] of text.matchAll(/\/(?:run\/secrets|etc)\/\S+/g))
      expect(mounted.filter((path) => file.startsWith(path))).toHaveLength(1);
    expect(mounted).toContain('/tmp/');
    const [secret, certificate] = [join(folder, 'secret'), join(folder, 'ca.crt')];
    await writeFile(secret, 'k'.repeat(43));
    await writeFile(certificate, '-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----');
    const file = join(folder, `${set}.yaml`);
    const onDisk = (path: string) => (/\.(crt|key)$/.test(path) ? certificate : secret);
    await writeFile(file, text.replaceAll(/\/run\/secrets\/\S+/g, onDisk));
    expect(() => loadConfig(file, {}, {})).not.toThrow();
    // The probes and services use the ports from the command line.
    const [http, internal] = container?.ports.map(({ containerPort }) => containerPort) ?? [];
    expect(container?.args).toEqual(
      expect.arrayContaining(['--address', `:${http}`, '--internal-address', `:${internal}`]),
    );
  });

  const DNS = [
    { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } },
    { ipBlock: { cidr: '169.254.20.10/32' } },
  ];
  const CLUSTER = { podSelector: { matchLabels: { 'cnpg.io/cluster': 'registry-registry-server-db' } } };
  it.each<[set: string, ...rules: [ports: number[], to?: object[]][]]>([
    ['default', [[5432]], [[443]]],
    ['ha', [[5432], [CLUSTER]], [[443, 6443]], [[3128], [{ ipBlock: { cidr: '10.1.3.4/32' } }]]],
  ])(
    'lets the server reach only DNS, the database and the destinations in the values: %s',
    (set, ...rules) => {
      const policy = policyOf(set);
      expect(policy?.spec.policyTypes).toEqual(['Ingress', 'Egress']);
      const reached = policy?.spec.egress.map(({ ports, to }) => [ports.map(({ port }) => port), to]);
      expect(reached).toEqual([[[53, 53], DNS], ...rules.map(([ports, to]) => [ports, to])]);
    },
  );

  it.each([
    ['default', { runAsUser: 1000, runAsGroup: 1000, fsGroup: 1000 }],
    ['ha', {}],
  ])('leaves user and groups to OpenShift when they are null: %s', (set, ids) => {
    const of = rendered(set);
    const pods = [...of('Deployment'), ...of('Job')].map(({ spec }) => spec.template.spec);
    const tests = of('Pod').map(({ spec }) => spec as unknown as Pod);
    for (const { securityContext } of [...pods, ...tests])
      expect(securityContext).toEqual({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
        ...ids,
      });
  });

  it('leaves the number of replicas to the autoscaler', () => {
    const of = rendered('ha');
    const [deployment] = of('Deployment');
    const [autoscaler] = of('HorizontalPodAutoscaler');
    expect(deployment?.spec.replicas).toBeUndefined();
    expect(autoscaler?.spec).toMatchObject({
      scaleTargetRef: { name: deployment?.metadata.name },
      minReplicas: 3,
      maxReplicas: 8,
      metrics: [{ containerResource: { name: 'cpu', container: 'registry' } }, { type: 'Pods' }],
    });
    expect(of('PodDisruptionBudget')).toHaveLength(1);
    const byHand = rendered('default');
    expect(byHand('Deployment')[0]?.spec.replicas).toBe(2);
    expect(byHand('HorizontalPodAutoscaler')).toEqual([]);
  });

  it('adds the containers, volumes and variables of the values', () => {
    const [pod] = rendered('ha')('Deployment').map(({ spec }) => spec.template.spec);
    expect(pod?.initContainers?.[0]?.name).toBe('prepare');
    expect(pod?.containers.map(({ name }) => name)).toEqual(['registry', 'catalogs']);
    expect(pod?.containers[0]).toMatchObject({
      envFrom: [{ secretRef: { name: 'registry-environment' } }],
      volumeMounts: expect.arrayContaining([
        { name: 'shared', mountPath: '/var/lib/catalogs', readOnly: true },
      ]) as unknown,
    });
    expect(pod?.volumes).toContainEqual({ name: 'shared', emptyDir: {} });
  });

  it('lets new replicas wait for the migrations Job', () => {
    const of = rendered('ha');
    const [pod] = of('Deployment').map(({ spec }) => spec.template.spec);
    const waiting = pod?.initContainers?.at(-1)?.command?.join(' ') ?? '';
    expect(waiting).toContain('migrate status --config /etc/registry/registry.yaml');
    // The services select the replicas, not the Job, which has its own policy.
    const [job] = of('Job');
    const labels = job?.spec.template.metadata.labels ?? {};
    const policy = policyOf('ha', '-migrations');
    expect(labels).toMatchObject(policy?.spec.podSelector.matchLabels ?? { none: true });
    expect(policy?.spec.ingress).toBeUndefined();
    expect(policy?.spec.egress.map(({ ports }) => ports.map(({ port }) => port))).toEqual([[53, 53], [5432]]);
    for (const { spec } of of('Service')) {
      const selector = Object.entries(spec.selector);
      expect(selector.every(([name, value]) => labels[name] === value)).toBe(false);
    }
  });

  it('waits until no migration is pending and the database responds', () => {
    const [pod] = rendered('ha')('Deployment').map(({ spec }) => spec.template.spec);
    const script = pod?.initContainers?.at(-1)?.command?.[2] ?? '';
    const states = (...answers: string[]) =>
      spawnSync('sh', ['-c', script.replace('sleep 5', 'true')], {
        env: { ...process.env, PATH: `${folder}:${process.env['PATH']}`, ANSWERS: answers.join(' ') },
        cwd: folder,
        encoding: 'utf8',
      });
    // Each call prints the next line of this list; "failed" exits with 1.
    writeFileSync(
      join(folder, 'node'),
      `#!/bin/sh\ncalls=$(cat calls 2> /dev/null || echo 0); calls=$((calls + 1)); echo $calls > calls\n` +
        `set -- $ANSWERS; shift $((calls - 1))\n` +
        `[ "$1" = failed ] && exit 1\necho "applied  A"; echo "$1  B"\n`,
      { mode: 0o755 },
    );
    expect(states('failed', 'pending', 'applied').status).toBe(0);
    expect(textOf(folder, 'calls').trim()).toBe('3');
  });

  it('contains the alerts of alerts.yml, adapted to its memory limit', () => {
    const [rule] = rendered('ha')('PrometheusRule');
    const alerts = textOf(CHART, 'alerts.yml');
    expect(alerts).toContain('> 450 * 1024 * 1024');
    // 1 GiB instead of 512 MiB.
    const { groups } = parse(alerts.replace('> 450 * 1024', '> 900 * 1024')) as { groups: unknown };
    expect(rule?.spec.groups).toEqual(groups);
    expect(rendered('default')('PrometheusRule')).toEqual([]);
  });

  it.each(SETS)('admits the release test while it runs, and nobody else: %s', (set) => {
    const of = rendered(set);
    const [pod] = of('Pod') as unknown as { metadata: { labels: Record<string, string> } }[];
    const policy = policyOf(set, '-test');
    expect(policy?.metadata.annotations).toMatchObject({
      'helm.sh/hook': 'test',
      'helm.sh/hook-delete-policy': 'before-hook-creation,hook-succeeded,hook-failed',
    });
    expect(policy?.spec.policyTypes).toEqual(['Ingress']);
    expect(policy?.spec.ingress).toEqual([
      {
        from: [{ podSelector: { matchLabels: pod?.metadata.labels } }],
        ports: [
          { protocol: 'TCP', port: 'http' },
          { protocol: 'TCP', port: 'internal' },
        ],
      },
    ]);
  });

  it.each(SETS)("verifies the database's certificate: %s", (set) => {
    const [configMap] = rendered(set)('ConfigMap');
    const { database } = parse(configMap?.data['registry.yaml'] ?? '') as { database: object };
    expect(database).toMatchObject({
      sslMode: 'verify-full',
      sslRootCertFile: expect.stringMatching(/ca\.crt$/) as string,
    });
  });

  it.each([
    ['default', []],
    ['ha', ['data', 'later', 'more', 'tools']],
  ])('grants exactly the permissions its sources request from the cluster: %s', (set, namespaces) => {
    const of = rendered(set);
    const roles = of('Role');
    expect(of('Role').length + of('ClusterRole').length).toBe(namespaces.length);
    expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(namespaces);
    const resources = RESOURCES.map(({ plural }) => plural);
    for (const { rules } of roles)
      expect(rules).toEqual([{ apiGroups: [API_GROUP], resources, verbs: ['list', 'watch'] }]);
    const [pod] = of('Deployment').map(({ spec }) => spec.template.spec);
    const bindings = of('RoleBinding');
    expect(bindings.map(({ metadata }) => metadata.namespace)).toEqual(namespaces);
    for (const { subjects, roleRef } of bindings) {
      expect(subjects).toEqual([{ kind: 'ServiceAccount', name: pod?.serviceAccountName, namespace: 'mcp' }]);
      expect(roleRef).toMatchObject({ kind: 'Role', name: roles[0]?.metadata.name });
    }
    expect(pod?.automountServiceAccountToken).toBe(namespaces.length > 0);
  });
});

it('package.json, the lock file, the chart and the changelog have the same version', () => {
  const { version } = JSON.parse(textOf(ROOT, 'package.json')) as { version: string };
  expect(JSON.parse(textOf(ROOT, 'package-lock.json'))).toMatchObject({ version });
  expect(parse(textOf(CHART, 'Chart.yaml'))).toMatchObject({ version, appVersion: version });
  const released = [...textOf(ROOT, 'CHANGELOG.md').matchAll(/^## \[(\d\S*)\] - \d{4}-\d{2}-\d{2}$/gm)];
  expect(released[0]?.[1]).toBe(version);
});
