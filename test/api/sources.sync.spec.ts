import { describe, expect, it } from 'vitest';
import { outcomeOf, serversIn } from '../support/answers.js';
import { ACME_ADMIN, ACME_DATA } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aService } from '../support/service.js';

describe('a manual sync', () => {
  const claims = { org: 'acme' };
  const service = aService({ mode: 'full' })
    .source('tools', { claims, servers: [aServer('io.acme/first')] })
    .source('busy', { claims, servers: [aServer('io.acme/round-0')] })
    .source('broken', { claims, servers: [aServer('io.acme/kept')] })
    .source('managed', { kind: 'managed', claims })
    .registry('tools', { sources: ['tools'] })
    .registry('busy', { sources: ['busy'] })
    .registry('broken', { sources: ['broken'] })
    .runs();
  const sync = (name: string) => service.as(ACME_ADMIN).post(`/v1/sources/${name}/sync`);
  const shown = async (registry: string) =>
    serversIn(await service.as(ACME_DATA).get(`/registry/${registry}/v0.1/servers`));
  const reportOf = async (name: string) =>
    ((await service.as(ACME_ADMIN).get(`/v1/sources/${name}`)).json as { sync: Record<string, unknown> })
      .sync;

  it('runs before the interval is over, even when nothing changed', async () => {
    const before = await reportOf('tools');
    expect(outcomeOf(await sync('tools'))).toBe('202');
    await expect
      .poll(async () => (await reportOf('tools'))['lastSuccessAt'])
      .not.toBe(before['lastSuccessAt']);
    const after = await reportOf('tools');
    expect(after).toMatchObject({ status: 'complete', attempts: 0, counts: { entries: 1 } });
    expect(String(after['lastSuccessAt']) > String(before['lastSuccessAt'])).toBe(true);
    expect(Date.parse(String(after['nextRunAt']))).toBeGreaterThan(Date.now() + 50 * 60_000);
  });

  it('publishes its result', async () => {
    await service.rewrite('tools', { servers: [aServer('io.acme/second')] });
    expect(outcomeOf(await sync('tools'))).toBe('202');
    await expect.poll(() => shown('tools')).toEqual(['io.acme/second']);
  });

  it('is not lost while another sync runs', async () => {
    for (let round = 1; round <= 8; round++) {
      await service.rewrite('busy', { servers: [aServer(`io.acme/round-${round}`)] });
      expect(outcomeOf(await sync('busy'))).toBe('202');
    }
    await expect.poll(() => shown('busy')).toEqual(['io.acme/round-8']);
  });

  it('reports its failure, keeps the entries, and clears the error with the next success', async () => {
    await service.rewrite('broken', { text: '{' });
    await sync('broken');
    await expect.poll(() => reportOf('broken')).toMatchObject({ status: 'failed' });
    expect((await reportOf('broken'))['error']).toMatch(/\w+ \w+/);
    expect(await shown('broken')).toEqual(['io.acme/kept']);
    await service.rewrite('broken', { servers: [aServer('io.acme/mended')] });
    await sync('broken');
    await expect.poll(() => shown('broken')).toEqual(['io.acme/mended']);
    expect(await reportOf('broken')).not.toHaveProperty('error');
  });

  it('is refused for the managed source', async () => {
    expect(outcomeOf(await sync('managed'))).toBe('400 not_synced');
  });
});

describe('a source with a secret', () => {
  const service = aService({ mode: 'full' })
    .source('tools', { servers: [aServer('io.acme/a')] })
    .registry('tools', { sources: ['tools'] })
    .runs();

  it('is returned with the name of the secret file, never its content', async () => {
    const passwordFile = service.write('password', 'correct horse battery staple');
    const settings = {
      repository: 'https://git.example.com/a.git',
      auth: { username: 'reader', passwordFile },
    };
    await service.database.query(
      `with made as (
         insert into source (name, kind, settings, interval_ms, claim_set_id, origin)
         select 'secret', 'git', $1, 3600000, min(id), 'api' from claim_set returning id
       ) insert into source_sync (source_id) select id from made`,
      [JSON.stringify(settings)],
    );
    const caller = service.as(ACME_ADMIN);
    const one = await caller.get('/v1/sources/secret');
    expect(one.json).toMatchObject({ kind: 'git', git: settings });
    for (const reply of [one, await caller.get('/v1/sources')])
      expect(reply.text).not.toContain('correct horse');
  });
});
