import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child, freePort } from './child.js';
import type { Catalogue, Stage } from './stage.js';

export const MAIN = fileURLToPath(new URL('../../main.js', import.meta.url));
const DOCKERFILE = new URL('../../../Dockerfile', import.meta.url);

export const SUPER_ADMIN = { role: 'super-admin' };

export interface ServiceOptions {
  /** Additional roles with their rules. */
  readonly roles?: object;
  /** Additional members of the identity provider. */
  readonly provider?: object;
  readonly nodeArguments?: readonly string[];
  /** Further arguments of `serve`. */
  readonly arguments?: readonly string[];
  /** Additional members in the configuration. */
  readonly configuration?: object;
}

/** Starts the service as shipped, in full mode, on a catalog's database. */
export async function startService(
  stage: Stage,
  catalogue: Catalogue,
  {
    roles,
    provider,
    nodeArguments = [],
    arguments: flags = [],
    configuration: more = {},
  }: ServiceOptions = {},
): Promise<Child> {
  const [port, internal] = [await freePort(), await freePort()];
  const file = join(stage.folder, `registry-${port}.yaml`);
  const { host, user, database } = catalogue.connection;
  const configuration = {
    auth: {
      mode: 'oauth',
      oauth: {
        resourceUrl: 'https://registry.example.com',
        providers: [{ ...stage.issuer.provider, ...provider }],
      },
      authz: { roles: { superAdmin: [SUPER_ADMIN], ...roles }, policy: { arrayValues: 'any' } },
    },
    database: { host, port: catalogue.connection.port, user, database },
    shutdown: { notice: '0s' },
    limits: { changesPerMinute: 1_000_000 },
    ...more,
  };
  await writeFile(file, JSON.stringify(configuration));
  const addresses = ['--address', `127.0.0.1:${port}`, '--internal-address', `127.0.0.1:${internal}`];
  return Child.start([MAIN, 'serve', '--config', file, ...addresses, ...flags], {
    port,
    readiness: { port: internal, path: '/readiness' },
    environment: await allocatorOfTheImage(),
    nodeArguments: [
      ...(await nodeFlagsOfTheImage()),
      ...nodeArguments,
      ...(stage.profiles === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', stage.profiles]),
    ],
  });
}

/** The image's allocator settings, which a process reads at start. */
async function allocatorOfTheImage(): Promise<Record<string, string>> {
  const all = (await readFile(DOCKERFILE, 'utf8')).matchAll(/(MALLOC_\w+)=(\S+)/g);
  return Object.fromEntries([...all].map(([, name, value]) => [name ?? '', value ?? '']));
}

async function nodeFlagsOfTheImage(): Promise<string[]> {
  const [, flags = ''] =
    /^ENTRYPOINT .*"node", (.*)"dist\/main.js"/m.exec(await readFile(DOCKERFILE, 'utf8')) ?? [];
  return [...flags.matchAll(/"(--[^"]+)"/g)].map(([, flag]) => flag ?? '');
}

/** The path of a list with these parameters. */
export function listPath(parameters: Readonly<Record<string, string | number>> = {}): string {
  const query = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return `/registry/main/v0.1/servers?${query.join('&')}`;
}

export interface Page {
  readonly servers: readonly { readonly server: { readonly name: string; readonly version: string } }[];
  readonly metadata: { readonly count: number; readonly nextCursor?: string };
}

export async function pageOf(
  service: Child,
  token: string,
  parameters?: Parameters<typeof listPath>[0],
): Promise<Page> {
  return JSON.parse(await service.get(listPath(parameters), token)) as Page;
}
