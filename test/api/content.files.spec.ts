import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import type { ContentFiles } from '../../dist/content/content.responses.js';
import { aSkill } from '../support/documents.js';
import { figuresIn } from '../support/figures.js';
import { call } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { waitForLocks } from '../support/patient-reads.js';
import { aName, entryAt } from '../support/publishing.js';
import { aService } from '../support/service.js';
import { storeContent } from '../support/stored-content.js';
import { waitingStatements } from '../support/waiting-statements.js';

waitForLocks();

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

describe('the file list of a version', () => {
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

  it('is read by at most four requests at a time; others wait', async () => {
    const name = await aSkillWith({ 'SKILL.md': '' });
    const holder = new pg.Client(service.database.connection);
    await holder.connect();
    await holder.query('begin; lock table content_file in access exclusive mode');
    const eight = Array.from({ length: 8 }, () => service.get(`${at(name, '1.0.0')}/files`));
    try {
      await expect.poll(() => waitingStatements(service.database)).toBe(4);
      // Time for further requests to arrive.
      await pause(500);
      expect(await waitingStatements(service.database)).toBe(4);
    } finally {
      await holder.end();
      await Promise.all(eight);
    }
    expect((await filesOf(name)).files).toHaveLength(1);
  });
});

describe('the members of a version', () => {
  const SKILL = '---\nname: own\ndescription: Its own\n---\n';
  const files = {
    'SKILL.md': SKILL,
    '.mcp.json': JSON.stringify({ pad: { command: 'npx', args: ['-y', 'left-pad@1'] } }),
    'hooks.json': '{',
  };
  const expected = {
    servers: [
      {
        name: 'pad',
        packages: [{ registryType: 'npm', identifier: 'left-pad', version: '1' }],
        command: 'npx -y left-pad@1',
      },
    ],
    skills: [{ name: 'own', description: 'Its own' }],
    unreadable: ['hooks.json'],
  };
  const membersOf = (name: string) => service.get(`${at(name, 'latest')}/members`);

  it('are also returned, as they were read, to managers of the entry', async () => {
    const name = await aSkillWith(files);
    expect(await membersOf(name)).toMatchObject({ status: 200, json: expected });
    const managed = await service.get(entryAt('skill', name, '/versions/1.0.0'));
    expect(managed.json['members']).toEqual(expected);
  });

  it('are refused where the version has no content', async () => {
    const name = aName();
    await service.post('/v1/entries', { skill: aSkill(name) });
    expectRefused(await membersOf(name), 404, 'version_not_found');
    const managed = await service.get(entryAt('skill', name, '/versions/1.0.0'));
    expect(managed.json).not.toHaveProperty('members');
  });

  it('are read again if an earlier version of the server read them', async () => {
    const name = await aSkillWith({ ...files, [`${randomUUID()}.md`]: 'its own tree' });
    const search = () => service.get('/registry/main/x/search?contains=npm:left-pad&limit=100');
    const outdated = async () =>
      figuresIn(await call(`${service.internalOrigin}/metrics`)).get('registry_content_outdated_members');
    const names = async () => ((await search()).json['items'] as { name: string }[]).map((item) => item.name);
    await service.database.query(
      `update content_tree set members = '{}', member_tokens = '{}', members_version = 0`,
    );
    await service.database.query('update source set revision = revision + 1');
    await service.database.query(
      'update entry e set revision = s.revision from source s where s.id = e.source_id',
    );
    expect(await names()).toEqual([]);
    expect(await outdated()).toBeGreaterThan(0);
    await service.restart();
    await expect.poll(() => membersOf(name)).toMatchObject({ json: expected });
    await expect.poll(names).toContain(name);
    await expect.poll(outdated).toBe(0);
  });
});
