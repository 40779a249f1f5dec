import { describe, expect, it } from 'vitest';
import { MORE_CATALOGUES } from '../support/catalogues.js';
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

/** Queries as people type them, and the last segment of the name that must come first. */
const TYPED: readonly (readonly [query: string, last: string])[] = [
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
  ['opslevel', 'opslevel-mcp'],
  ['pandoc', 'mcp-pandoc'],
  ['whatsapp', 'whatsapp-mcp'],
  ['youtube', 'youtube-mcp-server'],
  ['servicenow', 'servicenow-mcp'],
  ['mongodb', 'mongodb-mcp-server'],
  ['stripe', 'agent-toolkit'],
  ['docker', 'mcp-server-docker'],
  ['git hub', 'github'],
  ['githb', 'github'],
  ['amazon', 'aws-api'],
  ['file system', 'filesystem'],
  ['file systems', 'filesystem'],
  ['postgers', 'genai-toolbox'],
  ['database toolbox', 'genai-toolbox'],
  ['papers', 'arxiv-mcp-server'],
  ['create_issue', 'github'],
  ['execute_sql', 'adb-mysql-mcp-server'],
  ['read_file', 'filesystem'],
  ['web content', 'fetch'],
  ['browser automation', 'browserbase'],
  ['threat intel', 'crowdstrike-falcon'],
  ['devtools', 'chrome-devtools-mcp'],
  ['apollo', 'apollo-mcp-server'],
  ['k8s', 'mcp-k8s-go'],
  ['confluence', 'mcp-atlassian'],
  ['jira', 'mcp-atlassian'],
  ['rabbitmq', 'mcp-server-rabbitmq'],
  ['obsidian', 'mcp-obsidian'],
  ['cost explorer', 'aws-cost-explorer-mcp-server'],
  ['shopify', 'shopify-mcp'],
  ['solana', 'solana-agent-kit'],
  ['excel', 'excel-mcp-server'],
  ['okta', 'okta-mcp-server'],
  ['discord', 'discordmcp'],
  ['datadog', 'datadog-mcp-server'],
  ['home assistant', 'homeassistant-mcp'],
  ['google calendar', 'google-calendar-mcp'],
  ['clickup', 'clickup-mcp-server'],
  ['contentful', 'contentful-mcp'],
  ['databricks', 'mcp-databricks-server'],
  ['bing search', 'bing-search-mcp'],
  ['firebase', 'firebase-mcp'],
  ['linear', 'linear-mcp-go'],
  ['mailgun', 'mailgun-mcp-server'],
  ['postman', 'mcp-postman'],
  ['kubernets', 'mcp-k8s-go'],
  ['xcode', 'xcodebuild'],
];

// Real catalogs are not part of this repository: see .ci/run.
if (MORE_CATALOGUES !== undefined)
  describe('the ranked search of real catalogs', () => {
    const sourceOf = (name: string) => ({
      name,
      file: { path: `${MORE_CATALOGUES}/${name}-catalog.json` },
      syncPolicy: { interval: '1h' },
    });
    const service = aService()
      .configuration({
        sources: [sourceOf('curated'), sourceOf('community')],
        registries: [{ name: 'main', sources: ['curated', 'community'] }],
      })
      .runs();

    it('finds at least 56 of 60 servers first', async () => {
      for (const source of ['curated', 'community']) await service.synced(source);
      const wrong: object[] = [];
      for (const [query, last] of TYPED) {
        const reply = await service.get(
          `/registry/main/v0.1/x/search?q=${encodeURIComponent(query)}&limit=1`,
        );
        expect(reply.status).toBe(200);
        const first = (reply.json as Found).items[0]?.name.split('/').at(-1);
        if (first !== last) wrong.push({ query, first, last });
      }
      expect(TYPED).toHaveLength(60);
      expect(wrong.length, JSON.stringify(wrong)).toBeLessThanOrEqual(4);
    });
  });
