import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { auditOf } from '../support/audit.js';
import { ACME_ADMIN, SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { aService } from '../support/service.js';
import { waitingStatements } from '../support/waiting-statements.js';

const folder = aFolder();
const file = { path: folder.catalogue('made', [aServer('io.acme/made')]) };
const service = aService({ mode: 'full' })
  .source('open', { servers: [aServer('io.acme/open')] })
  .registry('open', { sources: ['open'] })
  .configuration({ adminFileRoot: folder.path })
  .runs();

describe.each([{ noun: 'sources' }, { noun: 'registries' }])(
  'concurrent PUTs of one of the $noun',
  ({ noun }) => {
    const good = noun === 'sources' ? { file, syncPolicy: { interval: '1h' } } : { sources: ['open'] };
    const admin = () => service.as(ACME_ADMIN);
    const path = (name: string) => `/v1/${noun}/${name}`;

    it('create it once with If-None-Match: *', async () => {
      const replies = await Promise.all(
        Array.from({ length: 6 }, () => admin().put(path('race'), good, { 'If-None-Match': '*' })),
      );
      const outcomes = replies.map(outcomeOf).sort();
      expect(outcomes).toEqual(['201', ...Array.from({ length: 5 }, () => '412 precondition_failed')]);
    });

    it('with the same If-Match change it only once', async () => {
      await admin().put(path('lost-update'), good);
      const tag = String((await admin().get(path('lost-update'))).headers['etag']);
      const replies = await Promise.all(
        ['a', 'b', 'c', 'd'].map((team) =>
          service
            .as({ ...ACME_ADMIN, team })
            .put(path('lost-update'), { ...good, claims: { org: 'acme', team } }, { 'If-Match': tag }),
        ),
      );
      const statuses = replies.map(({ status }) => status);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      // The others find it changed, or hidden by the new claims.
      expect(statuses.filter((status) => status === 412 || status === 404)).toHaveLength(3);
    });

    it('without a precondition create it once and then replace it', async () => {
      const replies = await Promise.all(
        Array.from({ length: 6 }, () => admin().put(path('plain-race'), good)),
      );
      const outcomes = replies.map(outcomeOf).sort();
      expect(outcomes).toEqual(['200', '200', '200', '200', '200', '201']);
    });

    it.each([1, 2, 3])(
      'with other claims return 404 to all but the organization that created it, round %i',
      async (round) => {
        const name = `contested-${round}`;
        const replies = await Promise.all(
          ['acme', 'contoso', 'acme', 'contoso', 'acme', 'contoso'].map(async (org) => {
            const body = { ...good, claims: { org } };
            return {
              org,
              outcome: outcomeOf(await service.as({ ...ACME_ADMIN, org }).put(path(name), body)),
            };
          }),
        );
        const made = (await service.as(SUPER_ADMIN).get(path(name))).json as { claims: { org: string } };
        const winner = made.claims.org;
        const won = replies.filter(({ org }) => org === winner).map(({ outcome }) => outcome);
        expect(won.sort()).toEqual(['200', '200', '201']);
        const notFound = `404 ${noun === 'sources' ? 'source' : 'registry'}_not_found`;
        const lost = replies.filter(({ org }) => org !== winner).map(({ outcome }) => outcome);
        expect(lost).toEqual([notFound, notFound, notFound]);
      },
    );
  },
);

describe('a manual sync', () => {
  it.each([
    ['is being removed', 'commit', '404 source_not_found', 0],
    ['is not removed after all', 'rollback', '202', 1],
  ])('of a source that %s', async (_what, end, outcome, events) => {
    const admin = service.as(SUPER_ADMIN);
    const path = `/v1/sources/removed-${end}`;
    expect((await admin.put(path, { file, syncPolicy: { interval: '1h' } })).status).toBe(201);
    const state = async () => ((await admin.get(path)).json as { sync: { status: string } }).sync.status;
    await expect.poll(state).toBe('complete');
    const holder = new pg.Client(service.database.connection);
    await holder.connect();
    await holder.query('begin; lock table source_sync in exclusive mode');
    await holder.query('delete from source where name = $1', [`removed-${end}`]);
    const syncing = admin.post(`${path}/sync`);
    try {
      await expect.poll(() => waitingStatements(service.database)).toBeGreaterThan(0);
      await holder.query(end);
    } finally {
      await holder.end();
    }
    expect(outcomeOf(await syncing)).toBe(outcome);
    expect(await auditOf(admin, `action=source.sync&target=removed-${end}`)).toHaveLength(events);
  });
});
