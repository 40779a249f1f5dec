import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { ACME_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { aService } from '../support/service.js';

const folder = aFolder();
const file = { path: folder.catalogue('made', [aServer('io.acme/made')]) };
const service = aService({ mode: 'full' })
  .source('tools', { claims: { org: 'acme' }, servers: [aServer('io.acme/a')] })
  .registry('tools', { sources: ['tools'], claims: { org: 'acme' } })
  .configuration({ adminFileRoot: folder.path })
  .runs();

describe.each([{ noun: 'sources' }, { noun: 'registries' }])('a conditional PUT of $noun', ({ noun }) => {
  const good = noun === 'sources' ? { file, syncPolicy: { interval: '1h' } } : { sources: ['tools'] };
  const admin = () => service.as(ACME_ADMIN);
  const path = (name: string) => `/v1/${noun}/${name}`;
  const relabelled = { ...good, claims: { org: 'acme' } };
  const etag = async (name: string): Promise<string> => {
    const { headers } = await admin().get(path(name));
    expect(headers['etag']).toMatch(/^"[^"]+"$/);
    return String(headers['etag']);
  };
  const claimsOf = async (name: string) =>
    ((await admin().get(path(name))).json as { claims: unknown }).claims;

  it('succeeds once with If-Match of the current ETag', async () => {
    await admin().put(path('once'), good);
    const tag = await etag('once');
    expect(outcomeOf(await admin().put(path('once'), relabelled, { 'If-Match': tag }))).toBe('200');
    expect(await etag('once')).not.toBe(tag);
    expect(outcomeOf(await admin().put(path('once'), good, { 'If-Match': tag }))).toBe(
      '412 precondition_failed',
    );
    expect(await claimsOf('once')).toEqual({ org: 'acme' });
  });

  it('succeeds when one of several ETags matches, and with If-Match: *', async () => {
    await admin().put(path('several'), good);
    const tag = await etag('several');
    const several = { 'If-Match': `"other", ${tag}` };
    expect(outcomeOf(await admin().put(path('several'), relabelled, several))).toBe('200');
    expect(outcomeOf(await admin().put(path('several'), good, { 'If-Match': '*' }))).toBe('200');
  });

  it.each(['"x"', 'x', '', '"', 'W/"x"', '""'])('returns 412 for If-Match: %s', async (tag) => {
    await admin().put(path('stopped'), good);
    const reply = await admin().put(path('stopped'), relabelled, { 'If-Match': tag });
    expect(outcomeOf(reply)).toBe('412 precondition_failed');
    expect(await claimsOf('stopped')).toEqual({});
  });

  it('returns 412 for a weak ETag', async () => {
    await admin().put(path('weak'), good);
    const reply = await admin().put(path('weak'), relabelled, { 'If-Match': `W/${await etag('weak')}` });
    expect(outcomeOf(reply)).toBe('412 precondition_failed');
  });

  it.each(['*', '"x"'])('returns 412 for a missing resource with If-Match: %s', async (tag) => {
    expect(outcomeOf(await admin().put(path('nothing'), good, { 'If-Match': tag }))).toBe(
      '412 precondition_failed',
    );
    expect((await admin().get(path('nothing'))).status).toBe(404);
  });

  it('creates but never replaces with If-None-Match: *', async () => {
    const headers = { 'If-None-Match': '*' };
    expect(outcomeOf(await admin().put(path('new'), good, headers))).toBe('201');
    expect(outcomeOf(await admin().put(path('new'), relabelled, headers))).toBe('412 precondition_failed');
    expect(await claimsOf('new')).toEqual({});
  });

  it('is checked after token, role and config_managed', async () => {
    const stale = { 'If-Match': '"x"' };
    expect(outcomeOf(await service.put(path('tools'), good, stale))).toBe('401 token_missing');
    const writer = service.as({ ...ACME_ADMIN, role: 'writer' });
    expect(outcomeOf(await writer.put(path('tools'), good, stale))).toBe('403 role_required');
    expect(outcomeOf(await admin().put(path('tools'), good, stale))).toBe('403 config_managed');
  });

  it('a GET with If-None-Match returns 304 until the resource changes', async () => {
    await admin().put(path('cached'), good);
    if (noun === 'sources') await service.synced('cached');
    const known = { 'If-None-Match': await etag('cached') };
    expect((await admin().get(path('cached'), known)).status).toBe(304);
    await admin().put(path('cached'), relabelled);
    expect((await admin().get(path('cached'), known)).status).toBe(200);
  });

  if (noun === 'sources')
    it('a sync does not change the ETag', async () => {
      await admin().put(path('synced'), good);
      const tag = await etag('synced');
      await service.synced('synced');
      expect(outcomeOf(await admin().put(path('synced'), relabelled, { 'If-Match': tag }))).toBe('200');
    });
});
