import { expect, it } from 'vitest';
import { aSkill } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
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
const ask = (query: string) => service.send('GET', `/registry/main/v0.1/x/search?${query}`);

interface Page {
  items: { name: string }[];
  metadata: { count: number; nextCursor?: string };
}

it('a page of the ranked search ends at 1 MiB of items', async () => {
  const first = (await ask('publisher=io.three')).json as unknown as Page;
  expect(first.items.map(({ name }) => name)).toEqual(['io.three/xa', 'io.three/xb']);
  const second = (await ask(`cursor=${first.metadata.nextCursor ?? ''}`)).json as unknown as Page;
  expect(second.items.map(({ name }) => name)).toEqual(['io.three/xc']);
  expect(second.metadata).toEqual({ count: 1 });
});

it('facets of more than 8 MiB are refused', async () => {
  expectRefused(await ask('publisher=io.many'), 503, 'search_too_broad');
});
