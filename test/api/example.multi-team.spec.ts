import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../dist/config/load-config.js';
import { openRegistriesIn, outcomeOf, registriesIn, sourcesIn } from '../support/answers.js';
import type { Document } from '../support/documents.js';
import type { Reply, Sender } from '../support/http.js';
import { anIssuer } from '../support/issuer.js';
import { tablesIn } from '../support/markdown.js';
import { versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';

const ROOT = resolve(import.meta.dirname, '../..');
const EXAMPLE = join(ROOT, 'examples/multi-team.yaml');
const GUIDE = readFileSync(join(ROOT, 'docs/authorization.md'), 'utf8');
const tables = tablesIn(GUIDE);

/** The table of the guide with these columns. */
function tableWith(...columns: string[]): Record<string, string>[] {
  const found = tables.filter(([row = {}]) => columns.every((column) => column in row));
  expect(
    found.map((table) => Object.keys(table[0] ?? {})),
    columns.join(),
  ).toHaveLength(1);
  return found[0] ?? [];
}

const WHO_SEES = tableWith('caller', 'GET /registry', 'why');
const WAREHOUSE = tables.find(([row = {}]) => Object.keys(row).join() === 'caller,response,why') ?? [];
const WHO_MANAGES = tableWith('caller', 'GET /v1/me');
const REQUESTS = tableWith('caller', 'request', 'response');
const [, SETTINGS = ''] = /## Two teams[^]*?```yaml\n([^]*?)```/.exec(GUIDE) ?? [];

const { config } = loadConfig(EXAMPLE, {}, {});
const claimsOf = new Map<string, string>();
for (const { caller = '', 'token claims': claims = '' } of [...WHO_SEES, ...WHO_MANAGES]) {
  // A person has the same claims in every table.
  expect(claimsOf.get(caller) ?? claims, caller).toBe(claims);
  claimsOf.set(caller, claims);
}

describe('examples/multi-team.yaml matches docs/authorization.md', () => {
  const issuer = anIssuer().runs();
  const service = aService();
  beforeAll(() => {
    const example = parse(readFileSync(EXAMPLE, 'utf8')) as {
      auth: { oauth: Document };
      sources: { file: { path: string } }[];
      registries: Document[];
    };
    const own = { name: 'corporate', issuerUrl: issuer.iss, audience: issuer.audience, allowPrivateIP: true };
    service.configuration({
      auth: { ...example.auth, oauth: { ...example.auth.oauth, providers: [own] } },
      sources: example.sources.map((source) => ({
        ...source,
        file: { path: join(ROOT, 'examples', source.file.path) },
      })),
      registries: example.registries,
    });
  });
  service.runs();

  const caller = (name = ''): Sender => {
    const claims = claimsOf.get(name) ?? '';
    return claims === 'no token'
      ? service
      : service.bearing(issuer.sign({ sub: name, ...(parse(claims) as Document) }));
  };
  /** A list as the guide formats it, or the error status. */
  const cell = (reply: Reply, listed: (reply: Reply) => string[]) =>
    reply.status === 200 ? listed(reply).join(', ') || 'none' : String(reply.status);

  /** The sources, in the registry's order, that provide the visible versions. */
  async function sourcesShown(who: Sender, registry: string): Promise<string> {
    const reply = await who.get(`/registry/${registry}/v0.1/servers?limit=100`);
    const contents = new Map<string, string[]>();
    for (const { name } of config.sources) {
      const entries = (await caller('Olga').get(`/v1/sources/${name}/entries`)).json as {
        entries: { type: string; name: string; versions: { version: string }[] }[];
      };
      contents.set(
        name,
        entries.entries.flatMap((entry) => entry.versions.map(({ version }) => `${entry.name}@${version}`)),
      );
    }
    const order = config.registries.find(({ name }) => name === registry)?.sources ?? [];
    return cell(reply, (list) =>
      order.filter((source) => versionsIn(list).some((version) => contents.get(source)?.includes(version))),
    );
  }

  it('in the claims and gates of sources and registries', () => {
    const named = <T>(entries: (readonly [string, T])[]) => Object.fromEntries(entries);
    const written = parse(SETTINGS) as { sources: object; registries: object };
    const shown = {
      sources: named(config.sources.map(({ name, claims }) => [name, claims])),
      registries: named(config.registries.map(({ name, claims, sources }) => [name, [claims, ...sources]])),
    };
    expect(written).toEqual(shown);
    expect(Object.keys(written.sources)).toEqual(Object.keys(shown.sources));
  });

  it.each(WHO_SEES)('in the entries visible to $caller', async (row) => {
    const who = caller(row['caller']);
    expect({
      'GET /registry': cell(await who.get('/registry'), openRegistriesIn),
      company: await sourcesShown(who, 'company'),
      platform: await sourcesShown(who, 'platform'),
      open: await sourcesShown(who, 'open'),
    }).toEqual({
      'GET /registry': row['GET /registry'],
      company: row['company'],
      platform: row['platform'],
      open: row['open'],
    });
    expect(row['why']).toMatch(/\w+ \w+/);
  });

  it.each(WAREHOUSE)('in the version of warehouse that $caller gets', async (row) => {
    const reply = await caller(row['caller']).get(
      '/registry/open/v0.1/servers/com.example.data%2Fwarehouse/versions/latest',
    );
    const version = (shown: Reply) => [(shown.json as { server: { version: string } }).server.version];
    expect(cell(reply, version)).toBe(row['response']);
  });

  it.each(WHO_MANAGES)('in the roles and admin lists of $caller', async (row) => {
    const who = caller(row['caller']);
    const roles = (reply: Reply) => (reply.json as { roles: string[] }).roles;
    const configured = (names: (reply: Reply) => string[]) => (reply: Reply) =>
      names(reply).filter((name) => name !== 'lab');
    expect({
      'GET /v1/me': cell(await who.get('/v1/me'), roles),
      'GET /v1/sources': cell(await who.get('/v1/sources'), configured(sourcesIn)),
      'GET /v1/registries': cell(await who.get('/v1/registries'), configured(registriesIn)),
    }).toEqual({
      'GET /v1/me': row['GET /v1/me'],
      'GET /v1/sources': row['GET /v1/sources'],
      'GET /v1/registries': row['GET /v1/registries'],
    });
  });

  it('in the responses to its sequence of requests', async () => {
    const answers: string[] = [];
    for (const { caller: name, request = '', body } of REQUESTS) {
      const [method = '', path = ''] = request.split(' ');
      const sent = body ? { body: parse(body) as object } : {};
      answers.push(`${name} ${request}: ${outcomeOf(await caller(name).send(method, path, sent))}`);
    }
    expect(answers).toEqual(
      REQUESTS.map(({ caller: name, request, response }) => `${name} ${request}: ${response}`),
    );
  });
});
