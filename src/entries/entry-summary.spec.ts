import { describe, expect, it } from 'vitest';
import { summaryOf, withWordStarts } from './entry-summary.js';

describe('withWordStarts', () => {
  const begins = (text: string, word: string) => withWordStarts(text).includes(withWordStarts(word));

  it.each([
    ['io.acme/build-tools', 'build', true],
    ['io.acme/build-tools', 'uild', false],
    ['io.acme/build-tools', 'tools', true],
    ['io.acme/build-tools', 'build-to', true],
    ['io.acme/build-tools', 'acme/build', true],
    ['io.acme/build-tools', 'uild-tools', false],
    ['io.acme/xab-ab', 'ab', true],
    ['io.acme/xab-xab', 'ab', false],
    ['für die übergabe', 'übergabe', true],
    ['xübergabe', 'übergabe', false],
    ['2nd', 'nd', false],
    ['𝒜b 倉庫', 'b', false],
    ['a😀b', 'b', true],
    ['a😀b', '😀', false],
    ['-%', '%', true],
  ])('in %j, %j begins a word: %s', (text, word, expected) => {
    expect(begins(text, word)).toBe(expected);
  });
});

const CHANGED = new Date('2026-01-02T03:04:05Z');
const summarized = (document: object) =>
  summaryOf({
    entryId: '1',
    type: 'server',
    name: 'io.acme/Tools',
    version: '1.0.0',
    status: 'active',
    document: JSON.stringify(document),
    changedAt: CHANGED,
  });
const published = (block: object) => ({
  _meta: { 'io.modelcontextprotocol.registry/publisher-provided': { 'io.acme': { image: block } } },
});

describe('summaryOf', () => {
  it('has the texts in lower case, one a line', () => {
    const document = { title: 'A Title', description: 'ÜBER', ...published({ tags: ['Git', 'Git', 'x'] }) };
    expect(summarized(document)).toMatchObject({
      tags: ['Git', 'x'],
      texts: 'io.acme/tools\na title\nüber\ngit\nx',
    });
    expect(summarized({})).toMatchObject({ title: null, description: null, texts: 'io.acme/tools\n\n' });
  });

  it('has the date of the document, or when it last changed', () => {
    expect(summarized({}).updatedAt).toEqual(CHANGED);
    const dated = published({ metadata: { last_updated: '2020-02-03T04:05:06Z' } });
    expect(summarized(dated).updatedAt).toEqual(new Date('2020-02-03T04:05:06Z'));
    expect(summarized(published({ metadata: { last_updated: 'soon' } })).updatedAt).toEqual(CHANGED);
  });

  it('has each transport once, and what PostgreSQL cannot store replaced', () => {
    const remotes = [{ type: 'sse' }, { type: 'sse' }, { type: 'a\0b\ud800' }];
    expect(summarized({ remotes, title: '\0' })).toMatchObject({
      transports: ['sse', 'a\ufffdb\ufffd'],
      title: '\ufffd',
    });
  });
});
