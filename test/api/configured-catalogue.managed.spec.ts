import { describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';

const CLAIMS = { org: 'acme' };

describe('a configured managed source', () => {
  const service = aService({ mode: 'full' })
    .source('published', { kind: 'managed' })
    .registry('main', { sources: ['published'] })
    .runs();
  const publisher = () => service.as({ role: 'writer', ...CLAIMS });
  const list = async () => versionsIn(await publisher().get('/registry/main/v0.1/servers'));

  it('keeps its entries over a restart, and loses them when renamed', async () => {
    const server = aServer('io.acme/kept', '1.0.0');
    expect((await publisher().post('/v1/entries', { server, claims: CLAIMS })).status).toBe(201);
    await service.restart();
    expect(await list()).toEqual(['io.acme/kept@1.0.0']);
    await service.restart((again) =>
      again
        .withoutSource('published')
        .source('renamed', { kind: 'managed' })
        .registry('main', { sources: ['renamed'] }),
    );
    expect(await list()).toEqual([]);
    const plan = service.logs().findLast(({ changes }) => changes !== undefined)?.['changes'];
    expect(plan).toEqual([
      'source published: removed with its entries',
      'source renamed: created',
      'registry main: changed',
    ]);
    expect((await publisher().post('/v1/entries', { server, claims: CLAIMS })).status).toBe(201);
  });

  it('loses its entries when a source of another kind takes its name', async () => {
    await service.restart((again) =>
      again
        .withoutSource('renamed')
        .source('renamed', { kind: 'file', servers: [aServer('io.acme/from-file')], claims: CLAIMS }),
    );
    await service.synced('renamed');
    expect(await list()).toEqual(['io.acme/from-file@1.0.0']);
    const refused = await publisher().post('/v1/entries', { server: aServer('io.acme/b'), claims: CLAIMS });
    expectRefused(refused, 409, 'no_managed_source');
  });
});
