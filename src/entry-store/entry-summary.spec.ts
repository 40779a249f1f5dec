import { describe, expect, it } from 'vitest';
import { summaryOf } from './entry-summary.js';

const summarized = (document: object) =>
  summaryOf({ type: 'server', name: 'io.acme/Tools', version: '1.0.0', document: JSON.stringify(document) });
const published = (block: object) => ({
  _meta: { 'io.modelcontextprotocol.registry/publisher-provided': { 'io.acme': { image: block } } },
});

describe('summaryOf', () => {
  it('lists each tag and each tool once', () => {
    const tools = ['search', { name: 'fetch' }, 'search', 1, {}];
    expect(summarized(published({ tags: ['Git', 'Git', 'x'], tools }))).toMatchObject({
      tags: ['Git', 'x'],
      tools: ['search', 'fetch'],
    });
    expect(summarized({})).toEqual({ tags: [], transports: [], installable: false });
  });

  it('has the date stated in the document', () => {
    const dated = (date: string) => summarized(published({ metadata: { last_updated: date } })).updated;
    expect(dated('2020-02-03T04:05:06Z')).toBe('2020-02-03T04:05:06.000Z');
    expect(dated('soon')).toBeUndefined();
  });

  it('lists each transport once, and replaces characters that PostgreSQL cannot store', () => {
    const remotes = [{ type: 'sse' }, { type: 'sse' }, { type: 'a\0b\ud800' }];
    expect(summarized({ remotes, title: '\0' })).toMatchObject({
      transports: ['sse', 'a\ufffdb\ufffd'],
      title: '\ufffd',
    });
  });
});
