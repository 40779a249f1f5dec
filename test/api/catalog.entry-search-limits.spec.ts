import { describe, expect, it } from 'vitest';
import { unlessBusy } from '../support/answers.js';
import { Clock } from '../support/clock.js';
import { aServer, aSkill } from '../support/documents.js';
import { expectRefused, versionsIn } from '../support/matchers.js';
import { aService } from '../support/service.js';

const letters = [...'abcdefghijklmnopqrst'];
/** A skill with a transport of 450 KiB. */
const long = (publisher: string, letter: string) =>
  aSkill(`${publisher}/x${letter}`, '1.0.0', { remotes: [{ type: letter.repeat(450 * 1_024) }] });

const service = aService({ mode: 'anonymous' })
  .source('large', {
    servers: [],
    skills: [
      ...letters.map((letter) => long('io.many', letter)),
      ...letters.slice(0, 3).map((letter) => long('io.three', letter)),
    ],
  })
  .registry('main', { sources: ['large'] })
  .runs();
const unsearched = aService({ mode: 'anonymous' })
  .source('main', { servers: [aServer('io.acme/one')] })
  .registry('main', { sources: ['main'] })
  .runs();
const ask = (query: string) => service.send('GET', `/registry/main/v0.1/x/search?${query}`);

interface Page {
  items: { name: string }[];
  metadata: { count: number; nextCursor?: string };
}

it('a page of the ranked search ends at 1 MiB of items', async () => {
  // A search of a large index that is not prepared yet may end too early.
  const answered = async (query: string) => (await unlessBusy(() => ask(query))).json as unknown as Page;
  const first = await answered('publisher=io.three');
  expect(first.items.map(({ name }) => name)).toEqual(['io.three/xa', 'io.three/xb']);
  const second = await answered(`cursor=${first.metadata.nextCursor ?? ''}`);
  expect(second.items.map(({ name }) => name)).toEqual(['io.three/xc']);
  expect(second.metadata).toEqual({ count: 1 });
});

it('facets of more than 8 MiB are refused', async () => {
  expectRefused(await ask('publisher=io.many'), 503, 'search_too_broad');
});

it('a search that ends before its registry is prepared can be retried', async () => {
  await unsearched.synced('main');
  await unsearched.database.query('begin');
  await unsearched.database.query('lock table removed_entry in access exclusive mode');
  const search = () => unsearched.send('GET', '/registry/main/v0.1/x/search?q=acme');
  const refused = await search();
  await unsearched.database.query('rollback');
  expectRefused(refused, 503, 'search_too_broad');
  expect(refused.json).toMatchObject({ error: expect.stringContaining('preparing this registry') as string });
  await expect.poll(async () => (await search()).status).toBe(200);
});

describe('search texts of other versions', () => {
  const versions = (name: string, count: number) =>
    Array.from({ length: count }, (_, number) =>
      aServer(name, `1.${number}.0`, { description: `word-${number}-of-${count} ${'x'.repeat(70)}` }),
    );
  const versioned = aService({ mode: 'anonymous' })
    .source('main', { servers: [...versions('io.acme/few', 20), ...versions('io.acme/many', 60)] })
    .registry('main', { sources: ['main'] })
    .runs();

  it.each([
    ['io.acme/few', 20],
    ['io.acme/many', 60],
  ])('are found by lists, whether the index has room for them or not: %s', async (name, count) => {
    await versioned.synced('main');
    // Reads the index.
    const ranked = () => versioned.send('GET', `/registry/main/v0.1/x/search?q=${name}`);
    expect(((await unlessBusy(ranked)).json as unknown as Page).metadata.count).toBe(1);
    for (const number of [0, count - 1]) {
      const found = await unlessBusy(() =>
        versioned.send('GET', `/registry/main/v0.1/servers?search=word-${number}-of-${count}`),
      );
      expect(versionsIn(found)).toEqual([`${name}@1.${number}.0`]);
    }
  });
});

describe('limits.searchIndexBytes', () => {
  const clock = new Clock().runs().standsStill();
  const titled = (count: number, prefix: string) =>
    Array.from({ length: count }, (_, number) => aServer(`io.${prefix}/server-${number}`));
  const limited = aService({ mode: 'anonymous' })
    .source('small', { servers: titled(10, 'small') })
    .source('big', { servers: titled(1_200, 'big') })
    .source('one', { servers: titled(600, 'one') })
    .source('other', { servers: titled(600, 'other') })
    .registry('one', { sources: ['one'] })
    .registry('other', { sources: ['other'] })
    .registry('fits', { sources: ['small'] })
    .registry('exceeds', { sources: ['small', 'big'] })
    .configuration({ limits: { searchIndexBytes: '400KiB' } })
    .runs();
  let asked = 0;
  /** A search that has not been made before, so no page of it is cached. */
  const search = (registry: string) =>
    limited.send('GET', `/registry/${registry}/v0.1/x/search?q=server-5&limit=${1 + (asked++ % 100)}`);
  const statusOf = async (registry: string) => (await search(registry)).status;
  /** A slow machine may refuse a search until it has prepared the registry. */
  const isSearched = (registry: string) =>
    expect.poll(() => statusOf(registry), { message: registry, interval: 250 }).toBe(200);

  it('refuses only registries whose index is larger', async () => {
    await limited.synced('small');
    await limited.synced('big');
    // Once it is prepared, its size decides. If another registry were loaded, it would first replace that one.
    await expect
      .poll(async () => (await search('exceeds')).text, { interval: 250 })
      .not.toContain('preparing this registry');
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      expectRefused(await search('exceeds'), 503, 'search_too_broad');
      await isSearched('fits');
      const fits = (await search('fits')).json as unknown as Page;
      expect(fits.items.map(({ name }) => name)).toEqual(['io.small/server-5']);
      const list = await limited.send('GET', '/registry/exceeds/v0.1/servers?search=l/server-5');
      expect(versionsIn(list)).toEqual(['io.small/server-5@1.0.0']);
    }
  });

  it('registries that do not fit together replace each other at most every 30 seconds', async () => {
    for (const source of ['small', 'one', 'other']) await limited.synced(source);
    for (const registry of ['one', 'other']) {
      clock.passes(30_000);
      await isSearched(registry);
    }
    const refused = await search('one');
    expectRefused(refused, 503, 'search_too_broad');
    expect(refused.text).toContain('limits.searchIndexBytes');
    for (const registry of ['other', 'fits']) await isSearched(registry);
    clock.passes(30_000);
    await isSearched('one');
  });
});
