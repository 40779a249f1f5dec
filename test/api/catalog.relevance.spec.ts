import { existsSync } from 'node:fs';
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

/** A folder with the catalogs `curated-catalog.json` and `community-catalog.json`. */
const FOLDER = process.env['TEST_CATALOGUES'] ?? '';

const REAL: readonly (readonly [query: string, last: string])[] = [
  ['github', 'github'],
  ['gitlab', 'gitlab'],
  ['fetch', 'fetch'],
  ['filesystem', 'filesystem'],
  ['arxiv', 'arxiv-mcp-server'],
  ['browserbase', 'browserbase'],
  ['chrome devtools', 'chrome-devtools-mcp'],
  ['crowdstrike', 'crowdstrike-falcon'],
  ['graphql', 'apollo-mcp-server'],
  ['aws api', 'aws-api'],
  ['grafana', 'mcp-grafana'],
  ['heroku', 'heroku-mcp-server'],
  ['memgraph', 'mcp-memgraph'],
  ['opslevel', 'opslevel-mcp'],
  ['neon', 'mcp-server-neon'],
  ['pandoc', 'mcp-pandoc'],
  ['whatsapp', 'whatsapp-mcp'],
  ['youtube', 'youtube-mcp-server'],
  ['wikidata', 'mcp-wikidata'],
  ['servicenow', 'servicenow-mcp'],
  // Chosen after the search was built, before these were tried.
  ['webflow', 'webflow-mcp-server'],
  ['spotify', 'spotify-mcp'],
  ['telegram', 'telegram-mcp'],
  ['n8n', 'n8n-mcp-server'],
  ['mongodb', 'mongodb-mcp-server'],
  ['figma', 'figma-context-mcp'],
  ['stripe', 'agent-toolkit'],
  ['bigquery', 'mcp-server-bigquery'],
  ['docker', 'mcp-server-docker'],
  ['todoist', 'todoist-mcp-server'],
];

describe.runIf(existsSync(`${FOLDER}/curated-catalog.json`))('the ranked search of real catalogs', () => {
  const sourceOf = (name: string) => ({
    name,
    file: { path: `${FOLDER}/${name}-catalog.json` },
    syncPolicy: { interval: '1h' },
  });
  const service = aService()
    .configuration({
      sources: [sourceOf('curated'), sourceOf('community')],
      registries: [{ name: 'main', sources: ['curated', 'community'] }],
    })
    .runs();

  it('finds at least 28 of 30 servers first', async () => {
    const firsts = [];
    for (const [query, last] of REAL) {
      const path = `/registry/main/v0.1/x/search?q=${encodeURIComponent(query)}&limit=1`;
      const [first] = ((await service.get(path)).json as Found).items;
      firsts.push({ query, first: first?.name.split('/').at(-1), last });
    }
    expect(firsts.filter(({ first, last }) => first !== last).length, JSON.stringify(firsts)).toBeLessThan(3);
  });
});
