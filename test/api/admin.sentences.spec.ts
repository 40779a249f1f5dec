import { describe, expect, it } from 'vitest';
import { ACME_ADMIN, ACME_WRITER, SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import type { Reply } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

function messageOf(reply: Reply): { error: string; details: string } {
  const { error, details = [] } = reply.json as { error: string; details?: string[] };
  return { error, details: details.join('\n') };
}

describe('the message of a refusal contains', () => {
  const service = aService({ mode: 'full' })
    .source('published', { kind: 'managed' })
    .source('tools', { servers: [aServer('io.acme/a')], claims: { org: 'acme' } })
    .registry('main', { sources: ['published', 'tools'], claims: { org: 'acme' } })
    .runs();
  const admin = () => service.as(ACME_ADMIN);
  const root = () => service.as(SUPER_ADMIN);
  const CLAIMS = { org: 'acme', team: 'platform' };

  it('a duplicate source and an unknown source', async () => {
    const put = (sources: string[]) =>
      admin().put('/v1/registries/made', { sources, claims: { org: 'acme' } });
    const twice = await put(['tools', 'tools']);
    expectRefused(twice, 400, 'invalid_body');
    expect(messageOf(twice).error).toContain('"tools" is already in the list');
    const unknown = await put(['tools', 'nowhere']);
    expectRefused(unknown, 400, 'unknown_source');
    expect(messageOf(unknown)).toEqual({
      error: 'No source is called "nowhere"',
      details: 'sources: nowhere is not the name of a source',
    });
    expect((await put(['tools'])).status).toBe(201);
  });

  it('only the claims the caller does not hold', async () => {
    const claims = { org: 'acme', team: ['platform', 'data'], region: 'eu' };
    const reply = await service.as(ACME_WRITER).post('/v1/entries', { server: aServer('io.acme/n'), claims });
    expectRefused(reply, 400, 'claims_not_subset');
    expect(messageOf(reply)).toEqual({
      error: 'You do not hold these claims: team=data, region=eu',
      details: 'team=data\nregion=eu',
    });
    const grant = await admin().put('/v1/registries/other', {
      sources: ['tools'],
      claims: { org: 'contoso' },
    });
    expectRefused(grant, 400, 'claims_not_subset');
    expect(messageOf(grant).details).toBe('org=contoso');
  });

  it('the version that exists', async () => {
    const publish = () =>
      service.as(ACME_WRITER).post('/v1/entries', { server: aServer('io.acme/v', '1.2.3'), claims: CLAIMS });
    expect((await publish()).status).toBe(201);
    const again = await publish();
    expectRefused(again, 409, 'version_exists');
    expect(messageOf(again).error).toContain('Version 1.2.3 of io.acme/v');
  });

  it('the registries that use a source, except hidden ones', async () => {
    const settings = { file: { url: 'http://127.0.0.1:9/x.json' } };
    const body = { file: settings.file, syncPolicy: { interval: '1h' }, claims: { org: 'acme' } };
    expect((await admin().put('/v1/sources/used', body)).status).toBe(201);
    const hold = (name: string, claims: object) =>
      root().put(`/v1/registries/${name}`, { sources: ['used'], claims });
    await hold('hidden-one', { org: 'contoso' });
    const hidden = await admin().delete('/v1/sources/used');
    expectRefused(hidden, 409, 'source_in_use');
    expect(hidden.text).not.toContain('hidden-one');
    await hold('reached', { org: 'acme' });
    const both = await admin().delete('/v1/sources/used');
    expectRefused(both, 409, 'source_in_use');
    expect(messageOf(both)).toEqual({
      error: 'The source is part of reached: remove it from there first',
      details: 'registry reached',
    });
    expect(messageOf(await root().delete('/v1/sources/used')).details).toBe(
      'registry hidden-one\nregistry reached',
    );
    for (const name of ['hidden-one', 'reached']) await root().delete(`/v1/registries/${name}`);
    expect((await admin().delete('/v1/sources/used')).status).toBe(204);
  });
});
