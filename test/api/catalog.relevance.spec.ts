import { describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { aService } from '../support/service.js';

interface Found {
  items: { name: string }[];
}

// Invented entries with the usual traps: the word in the namespace of all, in descriptions, in longer names.
const invented = aService()
  .source('main', {
    servers: [
      aServer('io.github.aaa/issue-bridge', '1.0.0', { description: 'Mirrors GitHub issues' }),
      aServer('io.github.aaa/github-stats', '1.0.0', { description: 'Statistics' }),
      aServer('io.github.zed/github', '1.0.0', { description: 'Repositories and pull requests' }),
      aServer('io.github.zed/weather', '1.0.0', { description: 'Forecasts' }),
      aServer('io.github.aaa/sailing', '1.0.0', { description: 'Tides and weather at sea' }),
      aServer('com.acme/sql-tools', '1.0.0', { title: 'Query Studio', description: 'Runs statements' }),
      aServer('com.aaa/studio', '1.0.0', { description: 'Photos' }),
    ],
  })
  .registry('main', { sources: ['main'] })
  .runs();

describe('the ranked search finds first', () => {
  it.each([
    ['github', 'io.github.zed/github'],
    ['weather', 'io.github.zed/weather'],
    ['query studio', 'com.acme/sql-tools'],
    ['studio', 'com.aaa/studio'],
    ['COM.ACME/sql-tools', 'com.acme/sql-tools'],
    ['weather sea', 'io.github.aaa/sailing'],
  ])('for %s: %s', async (query, expected) => {
    const reply = await invented.get(`/registry/main/v0.1/x/search?q=${encodeURIComponent(query)}&limit=1`);
    expect((reply.json as Found).items.map(({ name }) => name)).toEqual([expected]);
  });
});
