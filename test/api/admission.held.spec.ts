import { expect, it } from 'vitest';
import { itemsFor } from '../support/admission.js';
import { aServer, aSkill } from '../support/documents.js';
import { aService } from '../support/service.js';

const NAME = 'com.acme/payments-secret';

const service = aService()
  .source('mirror', {
    servers: [aServer('com.acme/open'), aServer(NAME)],
    skills: [aSkill('com.acme/secret-skill')],
    admission: { rules: [{ names: ['*secret*'], action: 'hold' }] },
  })
  .registry('main', { sources: ['mirror'] })
  .runs();

/** Every route of the consumer API but the deny-lists, which name what blocks hold, and what else shows entries. */
const READS = [
  'servers',
  'servers?search=secret',
  'servers?updated_since=2020-01-01T00:00:00Z',
  'servers?include_deleted=true&version=latest',
  `servers/${encodeURIComponent(NAME)}/versions`,
  `servers/${encodeURIComponent(NAME)}/versions/latest`,
  `servers/${encodeURIComponent(NAME)}/versions/1.0.0`,
  'x/dev.toolhive/skills',
  'x/dev.toolhive/skills/com.acme/secret-skill',
  'x/client-config?client=vscode&form=servers',
  'x/client-config?client=vscode&form=allowlist',
].map((path) => `/registry/main/v0.1/${path}`);

it('no read of the consumer API or of entries names a held version, or reads its table', async () => {
  expect(await itemsFor(service)).toHaveLength(2);
  // A statement that reads the table would fail.
  await service.database.query(`alter table admission_item rename to admission_item_hidden`);
  try {
    for (const path of [
      ...READS,
      '/registry',
      '/v1/sources/mirror/entries',
      '/v1/registries/main/entries',
      '/v1/registries/main/access',
      '/v1/entries',
    ]) {
      const reply = await service.get(path);
      expect([path, reply.status === 200 || reply.status === 404]).toEqual([path, true]);
      if (reply.status === 200) expect(reply.text).not.toContain('secret"');
    }
    const explained = await service.post('/v1/access/preview', { as: { claims: {} }, registry: 'main' });
    expect(explained.status).not.toBe(500);
  } finally {
    await service.database.query(`alter table admission_item_hidden rename to admission_item`);
  }
  expect(await itemsFor(service)).toHaveLength(2);
});
