import { describe, expect, it } from 'vitest';
import { aServer, aSkill } from '../support/documents.js';
import { cursorIn, expectRefused, versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';

describe('shadowing: two sources with the same name', () => {
  const service = aService()
    .source('first', {
      servers: [
        aServer('io.acme/both', '1.0.0', { description: 'from the first' }),
        aServer('io.acme/a', '1.0.0'),
      ],
      skills: [aSkill('io.acme/both', '1.0.0')],
    })
    .source('second', {
      servers: [
        aServer('io.acme/both', '2.0.0', { description: 'from the second' }),
        aServer('io.acme/both', '1.0.0', { description: 'from the second' }),
        aServer('io.acme/z', '1.0.0'),
      ],
      skills: [aSkill('io.acme/both', '3.0.0'), aSkill('io.acme/only', '1.0.0')],
    })
    .registry('first-wins', { sources: ['first', 'second'] })
    .registry('second-wins', { sources: ['second', 'first'] })
    .runs();

  it('lets the first source of the registry provide all versions of the name', async () => {
    expect(versionsIn(await service.get('/registry/first-wins/v0.1/servers'))).toEqual([
      'io.acme/a@1.0.0',
      'io.acme/both@1.0.0',
      'io.acme/z@1.0.0',
    ]);
    expect(versionsIn(await service.get('/registry/second-wins/v0.1/servers'))).toEqual([
      'io.acme/a@1.0.0',
      'io.acme/both@2.0.0',
      'io.acme/both@1.0.0',
      'io.acme/z@1.0.0',
    ]);
  });

  it.each(['search=both', 'search=second', 'updated_since=2020-01-01T00:00:00Z', 'version=2.0.0'])(
    'shadows before it filters by %s',
    async (query) => {
      const shown = versionsIn(await service.get(`/registry/first-wins/v0.1/servers?${query}`));
      expect(shown).not.toContain('io.acme/both@2.0.0');
      expect(versionsIn(await service.get(`/registry/second-wins/v0.1/servers?${query}`))).toContain(
        'io.acme/both@2.0.0',
      );
    },
  );

  it('returns no version of the shadowed source by name', async () => {
    const base = '/registry/first-wins/v0.1/servers/io.acme%2Fboth/versions';
    expect(versionsIn(await service.get(base))).toEqual(['io.acme/both@1.0.0']);
    expect((await service.get(`${base}/latest`)).json).toMatchObject({
      server: { description: 'from the first' },
    });
    expectRefused(await service.get(`${base}/2.0.0`), 404, 'version_not_found');
  });

  it('also applies to skills', async () => {
    const { skills } = (await service.get('/registry/first-wins/v0.1/x/dev.toolhive/skills')).json as {
      skills: { version: string }[];
    };
    expect(skills.map((skill) => skill.version)).toEqual(['1.0.0', '1.0.0']);
  });

  it('pages across sources without gaps or duplicates', async () => {
    const seen: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const page = await service.get(`/registry/second-wins/v0.1/servers?limit=1&cursor=${cursor}`);
      seen.push(...versionsIn(page));
      cursor = cursorIn(page);
    }
    expect(seen).toEqual(['io.acme/a@1.0.0', 'io.acme/both@2.0.0', 'io.acme/both@1.0.0', 'io.acme/z@1.0.0']);
  });
});
