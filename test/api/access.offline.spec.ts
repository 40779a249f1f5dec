import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { explain } from '../../dist/cli/explain.js';
import { authSection } from '../support/auth-section.js';
import { SUPER_ADMIN } from '../support/callers.js';
import { printed } from '../support/cli.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { entryAt } from '../support/publishing.js';
import { aService } from '../support/service.js';

const ACME = { org: 'acme' };
const DATA = { org: 'acme', team: 'data' };

const folder = aFolder();
const service = aService({ mode: 'full' })
  .source('published', { kind: 'managed', claims: ACME })
  .source('first', { servers: [aServer('io.acme/both')], claims: DATA })
  .source('catalog', {
    servers: ['io.acme/both', 'io.acme/gone', 'io.acme/open'].map((name) => aServer(name)),
    claims: ACME,
  })
  .registry('acme', { sources: ['published', 'first', 'catalog'], claims: ACME })
  .runs();

const file = () => join(folder.path, 'registry.yaml');

beforeAll(async () => {
  for (const name of ['first', 'catalog']) await service.synced(name);
  const root = service.as(SUPER_ADMIN);
  const published = { server: aServer('io.acme/gone'), claims: DATA };
  expect((await root.post('/v1/entries', published)).status).toBe(201);
  const deleted = await root.patch(entryAt('server', 'io.acme/gone', '/status'), { status: 'deleted' });
  expect(deleted.status).toBe(200);
  const synced = { syncPolicy: { interval: '1h' } };
  writeFileSync(
    file(),
    stringify({
      auth: authSection({ mode: 'full' }, service),
      sources: [
        { name: 'published', managed: {}, claims: ACME },
        { name: 'first', file: { path: 'first.json' }, claims: DATA, ...synced },
        { name: 'catalog', file: { path: 'catalog.json' }, claims: ACME, ...synced },
      ],
      registries: [{ name: 'acme', sources: ['published', 'first', 'catalog'], claims: ACME }],
      database: service.database.connection,
    }),
  );
});

interface Explanation {
  readonly decision: string;
  readonly steps: readonly { step: string; outcome: string; source?: string; shadowedBy?: string }[];
}

/** For each step about a source: the source, the outcome and the shadowing source. */
function online({ steps }: Explanation): string[] {
  return steps.flatMap(({ step, outcome, source, shadowedBy }) =>
    source ? [[step, outcome, source, shadowedBy ?? ''].join(' ').trim()] : [],
  );
}

function offline(output: string): string[] {
  return output.split('\n').flatMap((line) => {
    const [, step, outcome, source] = /^ {2}(\w+) +(\w+) +source (\w+)/.exec(line) ?? [];
    const by = /shadowed by source (\w+)/.exec(line)?.[1] ?? '';
    return source ? [[step, outcome, source, by].join(' ').trim()] : [];
  });
}

describe('the consumer API, POST /v1/access/explain and the offline explain agree', () => {
  const callers = [ACME, DATA, { org: 'contoso' }, { role: 'super-admin' }];
  const names = ['io.acme/both', 'io.acme/gone', 'io.acme/open', 'io.acme/none'];
  it.each(callers.flatMap((claims) => names.map((name) => [claims, name] as const)))(
    'for %j and %s',
    async (claims, name) => {
      const path = `/registry/acme/v0.1/servers/${encodeURIComponent(name)}/versions/latest`;
      const { status } = await service.as({ sub: 'caller', ...claims }).get(path);
      const question = { registry: 'acme', entry: { type: 'server', name }, as: { claims } };
      const reply = await service.as(SUPER_ADMIN).post('/v1/access/explain', question);
      const explanation = reply.json as Explanation;
      const { code, output } = await printed(() =>
        explain({ config: file(), claims: JSON.stringify(claims), registry: 'acme', entry: name }),
      );
      expect(reply.json).toMatchObject({ answer: { status } });
      expect(output.split(' ')[0]).toBe(explanation.decision);
      expect(code).toBe(status === 200 ? 0 : 1);
      expect(online(explanation)).not.toEqual([]);
      expect(offline(output)).toEqual(online(explanation));
    },
  );

  it('an earlier entry shadows a later one even if its versions are deleted', async () => {
    const path = '/registry/acme/v0.1/servers/io.acme%2Fgone/versions/latest';
    expect((await service.as({ sub: 'dora', ...DATA }).get(path)).status).toBe(404);
    expect((await service.as({ sub: 'olga', ...ACME }).get(path)).status).toBe(200);
  });
});
