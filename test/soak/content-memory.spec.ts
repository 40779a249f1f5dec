import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { aSkillFile, aZip } from '../support/archives.js';
import { aSkill } from '../support/documents.js';
import { entryAt } from '../support/publishing.js';
import { aService } from '../support/service.js';

const MIB = 1024 * 1024;
const FILES = 5;

const service = aService({ mode: 'anonymous' })
  .source('published', { kind: 'managed' })
  .registry('main', { sources: ['published'] })
  .runs();

/** Memory of this process, which is both the service and its client. */
const rss = () => process.memoryUsage.rss();

it('a zip file of 5 MiB is streamed to a slow reader with less than 20 MB more memory', async () => {
  const name = 'io.acme/large';
  await service.post('/v1/entries', { skill: aSkill(name), claims: {} });
  const body = aZip([
    { name: 'SKILL.md', data: aSkillFile('large', `The skill ${name}`) },
    ...Array.from({ length: FILES }, (_, index) => ({
      name: `f${index}`,
      data: randomBytes(MIB),
      method: 0,
    })),
  ]);
  const path = entryAt('skill', name, '/versions/1.0.0/content');
  const headers = { 'Content-Type': 'application/zip' };
  expect((await service.send('PUT', path, { body, headers })).status).toBe(204);
  // Runs once beforehand, because code and caches stay in memory.
  await service.get(`/registry/main/x/content/skill/${name}/1.0.0.zip`);
  const before = rss();
  let most = 0;
  let read = 0;
  const sent = get(`${service.origin}/registry/main/x/content/skill/${name}/1.0.0.zip`);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  for await (const chunk of response) {
    read += (chunk as Buffer).length;
    most = Math.max(most, rss());
    await sleep(1);
  }
  expect(read).toBeGreaterThan(FILES * MIB);
  expect(most - before).toBeLessThan(20e6);
});
