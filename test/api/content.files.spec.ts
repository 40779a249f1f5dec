import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import type { ContentFiles } from '../../dist/content/content.responses.js';
import { aSkill } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import { aName } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { storeContent } from '../support/stored-content.js';
import { waitingStatements } from '../support/waiting-statements.js';

const MAX_TEXT = 256 * 1024;

const service = aService()
  .source('published', { kind: 'managed' })
  .registry('main', { sources: ['published'] })
  .runs();

const at = (name: string, version: string) => `/registry/main/x/content/skill/${name}/${version}`;

async function aSkillWith(files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  const name = aName();
  expect((await service.post('/v1/entries', { skill: aSkill(name) })).status).toBe(201);
  await storeContent(service, 'skill', name, '1.0.0', files);
  return name;
}

async function filesOf(name: string): Promise<ContentFiles> {
  const reply = await service.get(`${at(name, '1.0.0')}/files`);
  expect(reply.status).toBe(200);
  return reply.json as ContentFiles;
}

describe('the list of the files of a version', () => {
  it('has their sizes and digests, and the ETag of the zip file', async () => {
    const name = await aSkillWith({ 'run.sh*': 'run', 'SKILL.md': 'a skill' });
    const { digest, bytes, files } = await filesOf(name);
    const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
    expect(files).toEqual([
      { path: 'SKILL.md', digest: sha256('a skill'), bytes: 7, executable: false },
      { path: 'run.sh', digest: sha256('run'), bytes: 3, executable: true },
    ]);
    expect(bytes).toBe(10);
    expect((await service.get(`${at(name, '1.0.0')}.zip`)).headers['etag']).toBe(`"${digest}"`);
    const [exact, latest] = await Promise.all(
      ['1.0.0', 'latest'].map((version) => service.get(`${at(name, version)}/files`)),
    );
    expect(latest?.text).toBe(exact?.text);
  });

  it('has the text of SKILL.md and README.md at the top', async () => {
    const name = await aSkillWith({
      'README.md': Buffer.alloc(MAX_TEXT, 'r'),
      'SKILL.md': '# Größe\n',
      'docs/README.md': 'below',
      'other.md': 'other',
    });
    const { texts } = await filesOf(name);
    expect(texts).toEqual([
      { path: 'README.md', text: 'r'.repeat(MAX_TEXT) },
      { path: 'SKILL.md', text: '# Größe\n' },
    ]);
  });

  it('omits texts that are too long or not UTF-8', async () => {
    const name = await aSkillWith({
      'README.md': Buffer.alloc(MAX_TEXT + 1, 'r'),
      'SKILL.md': Buffer.from([0xff]),
    });
    const { files, texts } = await filesOf(name);
    expect(files).toHaveLength(2);
    expect(texts).toEqual([]);
  });

  it('is refused where the version has no content', async () => {
    const name = aName();
    await service.post('/v1/entries', { skill: aSkill(name) });
    expectRefused(await service.get(`${at(name, '1.0.0')}/files`), 404, 'version_not_found');
  });

  it('is read beside at most three others, and there is room again when they end', async () => {
    const name = await aSkillWith({ 'SKILL.md': '' });
    const holder = new pg.Client(service.database.connection);
    await holder.connect();
    await holder.query('begin; lock table content_file in access exclusive mode');
    const eight = Array.from({ length: 8 }, () => service.get(`${at(name, '1.0.0')}/files`));
    try {
      await expect.poll(() => waitingStatements(service.database)).toBe(4);
      // Time for more to arrive; a lock that is held for longer ends the four with 503.
      await pause(500);
      expect(await waitingStatements(service.database)).toBeLessThanOrEqual(4);
    } finally {
      await holder.end();
      await Promise.all(eight);
    }
    expect((await filesOf(name)).files).toHaveLength(1);
  });
});
