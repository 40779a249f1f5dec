import { describe, expect, it } from 'vitest';
import { summaryOf } from './entry-summary.js';

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
  it('has each tag once', () => {
    expect(summarized(published({ tags: ['Git', 'Git', 'x'] }))).toMatchObject({ tags: ['Git', 'x'] });
    expect(summarized({})).toMatchObject({ title: null, description: null, tags: [] });
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
