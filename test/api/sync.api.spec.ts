import { beforeAll, describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { demandRevisions } from '../support/revisions.js';
import { keepSecret } from '../support/secrets.js';
import { inSoak } from '../support/soak.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

const COUNT = inSoak(10_000, 500);
const CLAIMS = { org: 'acme', team: ['platform', 'data'] };
const OFFICIAL = 'io.modelcontextprotocol.registry/official';

interface Item {
  server: Record<string, unknown>;
  _meta: { [OFFICIAL]: Record<string, unknown> };
}

/** Items of a registry with their text, without the timestamps each service sets itself. */
async function everything(
  ask: (path: string) => Promise<{ text: string; json: never }>,
): Promise<Map<string, unknown>> {
  const found = new Map<string, unknown>();
  for (let cursor = ''; ;) {
    const { json } = await ask(`/registry/main/v0.1/servers?limit=100&include_deleted=true&cursor=${cursor}`);
    const { servers, metadata } = json as { servers: Item[]; metadata: { nextCursor?: string } };
    for (const { server, _meta } of servers) {
      // Each registry sets its own timestamps.
      const official = Object.fromEntries(
        Object.entries(_meta[OFFICIAL]).filter(([key]) => key !== 'updatedAt'),
      );
      found.set(`${String(server['name'])} ${String(server['version'])}`, { server, official });
    }
    if (!metadata.nextCursor) return found;
    cursor = metadata.nextCursor;
  }
}

/** Number of server pages that a service has returned since the last call. */
function pagesAnswered(service: ServiceUnderTest): number {
  const lines = service.logs().filter((line) => String(line['path']).endsWith('/v0.1/servers'));
  service.log.length = 0;
  return lines.length;
}

describe(`${COUNT} servers of another registry server that requires a token`, () => {
  const servers = Array.from({ length: COUNT }, (_, index) =>
    aServer(`io.acme/s${index}`, index % 7 === 0 ? `build-${index}` : '1.0.0', {
      odd: { list: [index, null, { 'odd key': 'ключ ✓' }], text: 'x'.repeat(index % 300) },
    }),
  );
  const upstream = aService({ mode: 'full' })
    .source('main', { servers: servers.slice(0, 1), claims: CLAIMS })
    .registry('main', { sources: ['main'] })
    .runs();
  const mirror = aService();
  let member: ReturnType<ServiceUnderTest['as']>;
  beforeAll(async () => {
    const token = keepSecret(upstream.issuer.sign(CLAIMS));
    member = upstream.bearing(token);
    mirror.source('main', {
      kind: 'api',
      settings: {
        endpoint: `${upstream.origin}/registry/main/`,
        tokenFile: upstream.write('token', `${token}\n`),
      },
      claims: { org: 'mirror' },
    });
    await upstream.rewrite('main', { servers });
    await upstream.synced('main');
  });
  mirror.registry('main', { sources: ['main'] }).runs();
  demandRevisions(mirror);

  it('are mirrored exactly', async () => {
    expect(await mirror.synced('main')).toMatchObject({ status: 'complete', counts: { entries: COUNT } });
    const theirs = await everything((path) => member.get(path));
    expect(theirs.size).toBe(COUNT);
    expect(await everything((path) => mirror.get(path))).toEqual(theirs);
  });

  it('take at most two pages when ten of them have changed', async () => {
    // A run rereads everything dated up to two seconds before the previous run, which may include the initial load.
    do {
      pagesAnswered(upstream);
      await mirror.synced('main');
    } while (pagesAnswered(upstream) > 1);
    const changed = servers.map((server, index) =>
      index % (COUNT / 10) === 5 ? { ...server, description: 'Changed' } : server,
    );
    await upstream.rewrite('main', { servers: changed });
    expect((await upstream.synced('main')).counts).toMatchObject({ changed: 10 });
    expect((await mirror.synced('main')).counts).toMatchObject({ changed: 10, removed: 0, entries: COUNT });
    expect([1, 2]).toContain(pagesAnswered(upstream));
    expect(await everything((path) => mirror.get(path))).toEqual(
      await everything((path) => member.get(path)),
    );
  });

  it('are removed by the next full read after upstream removed them', async () => {
    await upstream.rewrite('main', { servers: servers.slice(0, COUNT - 10) });
    expect((await upstream.synced('main')).counts).toMatchObject({ removed: 10 });
    expect((await mirror.synced('main')).counts).toMatchObject({ entries: COUNT });
    // Simulates a day passing.
    await mirror.database.query(
      `update source_sync set fetch_state = jsonb_set(fetch_state, '{state,roundAt}',
         to_jsonb((fetch_state->'state'->>'roundAt')::float8 - 86400000))`,
    );
    expect((await mirror.synced('main')).counts).toMatchObject({ removed: 10, entries: COUNT - 10 });
    const theirs = await everything((path) => member.get(path));
    expect(await everything((path) => mirror.get(path))).toEqual(theirs);
  });
});
