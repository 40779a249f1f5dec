import { describe, expect, it } from 'vitest';
import { CATALOGUES } from '../support/catalogues.js';
import { aService } from '../support/service.js';

interface Found {
  items: { name: string }[];
}

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

describe('the ranked search of real catalogs', () => {
  const sourceOf = (name: string) => ({
    name,
    file: { path: `${CATALOGUES}/${name}-catalog.json` },
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
