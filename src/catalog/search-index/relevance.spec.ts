import { describe, expect, it } from 'vitest';
import type { Summary } from '../../entry-store/entry-summary.js';
import { indexedEntry, KindPool } from './indexed-entry.js';
import { Matcher } from './relevance.js';
import { searchWords, synonymsOf } from './search-words.js';

const SYNONYMS = synonymsOf([['pg', 'postgres']]);

interface Given extends Partial<Summary> {
  readonly name?: string;
}

function entryOf({ name = 'io.x/y', ...summary }: Given) {
  return indexedEntry(
    {
      ...{
        sourceId: 1,
        type: 'server',
        name,
        claimSetId: 1,
        status: 'active',
        changedAt: 0,
        publishedAt: null,
        texts: [],
        members: null,
      },
      summary: { tags: [], transports: [], installable: false, ...summary },
    },
    new KindPool(),
  );
}

/** The tier, and the worst occurrence of a word: 0 whole, 1 its beginning, 2 inside; null for no match. */
function matched(q: string, given: Given, corrects = false): readonly [number, number] | null {
  const relevance = new Matcher(searchWords(q, SYNONYMS), { corrects, isPartial: false }).match(
    entryOf(given),
  );
  return relevance < 0 ? null : [Math.floor(relevance / 16), relevance % 4];
}

/** The tier, and the number of words that are minor and absent or only in the topics; null for no match. */
function freelyMatched(q: string, given: Given, corrects = false): readonly [number, number] | null {
  const words = searchWords(q, synonymsOf([], true), true);
  const relevance = new Matcher(words, { corrects, isPartial: false }).match(entryOf(given));
  return relevance < 0 ? null : [Math.floor(relevance / 16), Math.floor((relevance % 16) / 4)];
}

describe('a query finds an entry', () => {
  it.each<[string, Given, readonly [number, number] | null]>([
    // Tiers.
    ['IO.acme/Git', { name: 'io.acme/git' }, [0, 0]],
    ['git', { name: 'io.acme/git' }, [1, 0]],
    ['query studio', { title: 'Query Studio' }, [1, 0]],
    ['studio query', { title: 'Query Studio' }, [2, 0]],
    ['query', { title: 'Query Studio' }, [2, 0]],
    ['query y', { title: 'Query Studio' }, [2, 0]],
    ['query fast', { title: 'Query Studio', tags: ['fast'] }, [3, 0]],
    ['list_files', { tools: ['list_files'] }, [3, 0]],
    ['query slow', { title: 'Query', description: 'slow' }, [4, 0]],
    // Names.
    ['github', { name: 'io.github.acme/tool' }, null],
    ['acme', { name: 'io.github.acme/tool' }, [4, 0]],
    ['acme tools', { name: 'com.acme.tools/x' }, [4, 0]],
    ['com', { name: 'com.acme.tools/x' }, null],
    ['acme', { name: 'uk.co.acme/x' }, [4, 0]],
    ['co', { name: 'uk.co.acme/x' }, null],
    ['acme', { name: 'acme/x' }, [4, 0]],
    ['github', { name: 'com.github/x' }, [4, 0]],
    ['io.github.ac/', { name: 'io.github.acme/tool' }, null],
    ['io.github.acme/to', { name: 'io.github.acme/tool' }, [4, 0]],
    ['io.github.acme/ tool', { name: 'io.github.acme/tool' }, [2, 0]],
    ['acme/tool', { name: 'io.github.acme/tool' }, null],
    // Words.
    ['devtools chrome', { name: 'io.x/chrome-devtools' }, [2, 0]],
    ['camel', { title: 'camelCase' }, [2, 1]],
    ['case', { title: 'camelCase' }, [2, 2]],
    ['se', { title: 'camelCase' }, null],
    ['ca', { title: 'camelCase' }, [2, 1]],
    ['post', { title: 'Postgres' }, [2, 1]],
    ['cafe', { title: 'Café' }, [1, 0]],
    ['CAFÉ', { title: 'cafe' }, [1, 0]],
    ['ＦＵＬＬ', { title: 'full' }, [1, 0]],
    ['天气', { title: '天气 API' }, [2, 0]],
    ['no match', { title: 'no' }, null],
    // Plurals.
    ['databases', { title: 'Database' }, [1, 0]],
    ['database', { title: 'Databases' }, [1, 0]],
    ['apis', { title: 'API' }, [1, 0]],
    ['redis', { title: 'Redirect' }, null],
    ['news', { title: 'New' }, null],
    ['aws', { title: 'Awards' }, null],
    // Synonyms.
    ['k8s', { title: 'Kubernetes' }, [1, 0]],
    ['kubernetes', { title: 'k8s' }, [1, 0]],
    ['pg', { description: 'A PostgreSQL server' }, [4, 0]],
    ['amazon', { title: 'AWS tools' }, [2, 0]],
    ['javascript', { title: 'JSON' }, null],
    ['js', { title: 'JSON' }, [2, 1]],
    // The query contains no words.
    ['', {}, [0, 0]],
  ])('%s in %j: %j', (q, given, expected) => {
    expect(matched(q, given)).toEqual(expected);
  });

  it.each<[string, Given, readonly [number, number] | null]>([
    ['postgers', { title: 'Postgres' }, [2, 0]],
    ['postgers', { title: 'PostgreSQL' }, [2, 1]],
    ['poostgres', { title: 'Postgres' }, [2, 0]],
    ['pastgres', { title: 'Postgres' }, [2, 0]],
    ['mithub', { title: 'GitHub' }, [2, 0]],
    ['pastgers', { title: 'Postgres' }, null],
    ['gihub', { title: 'GitHub' }, [2, 0]],
    ['gitt', { title: 'Git' }, null],
    ['slack', { title: 'Stacklok' }, null],
    ['slack', { title: 'Stacked' }, [2, 1]],
    ['githb fast', { title: 'GitHub', tags: ['fast'] }, [3, 0]],
    ['githb slow', { title: 'GitHub' }, null],
  ])('with one letter wrong: %s in %j: %j', (q, given, expected) => {
    expect(matched(q, given, true)).toEqual(expected);
    if (expected) expect(matched(q, given)).toBeNull();
  });

  it.each<[string, Given, readonly [number, number] | null]>([
    // Fillers do not count, minor words may be absent.
    ['an mcp server for git', { name: 'io.x/mcp-server-git' }, [1, 0]],
    ['server', { name: 'io.x/git-server' }, [2, 0]],
    ['list files', { title: 'File reader' }, [2, 1]],
    ['listing files', { title: 'File reader', tools: ['list_files'] }, [2, 0]],
    ['list', { title: 'File reader' }, null],
    ['list slow', { title: 'List' }, null],
    // Verbs and nouns.
    ['monitoring', { title: 'Uptime monitor' }, [2, 0]],
    ['monitor', { title: 'Monitoring' }, [2, 0]],
    ['scrape', { description: 'Web scraping' }, [4, 0]],
    ['generate', { title: 'Generation' }, [2, 0]],
    ['scanner', { title: 'scanning' }, [2, 0]],
    ['notion', { title: 'Note' }, null],
    // Joined words and synonyms.
    ['git hub', { name: 'io.x/github' }, [1, 0]],
    ['my sql', { name: 'io.x/mysql' }, [1, 0]],
    ['football', { title: 'Soccer data' }, [2, 0]],
    // Products.
    ['queue', { name: 'io.x/rabbitmq-mcp' }, [2, 1]],
    ['queue', { description: 'For RabbitMQ' }, null],
    ['hashicorp', { name: 'io.x/consul-mcp' }, [2, 1]],
    ['chat', { name: 'io.x/discordmcp' }, [2, 1]],
  ])('in tolerant search: %s in %j: %j', (q, given, expected) => {
    expect(freelyMatched(q, given)).toEqual(expected);
  });

  it.each([
    ['webscraper', { description: 'Web scraping' }, [4, 0]],
    ['chromedevtools', { name: 'io.x/chrome-devtools' }, [2, 0]],
    ['webscraper', { description: 'Cobweb scraping' }, null],
  ])('in tolerant search, with words written as one: %s in %j: %j', (q, given, expected) => {
    expect(freelyMatched(q, given, true)).toEqual(expected);
    expect(freelyMatched(q, given)).toBeNull();
  });
});

it.each([
  ['/', true],
  ['…', true],
  ['a/', false],
  ['é', false],
])('a query without letters and digits is empty: %s', (q, isEmpty) => {
  expect(searchWords(q, SYNONYMS).isEmpty).toBe(isEmpty);
});
