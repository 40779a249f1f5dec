import { describe, expect, it } from 'vitest';
import { aServer, aSkill } from '../support/documents.js';
import { cursorIn } from '../support/matchers.js';
import { aService } from '../support/service.js';

const FILLER = 'x'.repeat(10_000);

describe('a list whose documents are large', () => {
  const _meta = { 'io.modelcontextprotocol.registry/publisher-provided': { filler: FILLER } };
  const service = aService()
    .source('main', {
      servers: ['alpha', 'beta'].map((name) => aServer(`io.acme/${name}`, '1.0.0', { _meta })),
      skills: ['alpha', 'beta'].map((name) => aSkill(`io.acme/${name}`, '1.0.0', { _meta })),
    })
    .registry('main', { sources: ['main'] })
    .runs();

  it.each(['servers', 'x/dev.toolhive/skills'])(
    'gives out cursors of %s that it takes back',
    async (list) => {
      const path = `/registry/main/v0.1/${list}?limit=1`;
      const cursor = cursorIn(await service.get(path)) ?? '';
      expect(cursor).toMatch(/^[\w-]+$/);
      expect((await service.get(`${path}&cursor=${cursor}`)).status).toBe(200);
    },
  );

  it('puts the place into its cursors, and no documents', async () => {
    const cursor = cursorIn(await service.get('/registry/main/v0.1/servers?limit=1')) ?? '';
    const text = Buffer.from(cursor, 'base64url').toString('latin1');
    expect(text).toContain('io.acme/alpha');
    expect(text).not.toContain('xxx');
  });
});
