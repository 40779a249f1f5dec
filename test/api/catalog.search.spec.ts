import { randomInt } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { SUPER_ADMIN } from '../support/callers.js';
import { aServer, type Document } from '../support/documents.js';
import { cursorIn, versionsIn } from '../support/matchers.js';
import { aPublication, entryAt } from '../support/publishing.js';
import { Random } from '../support/random.js';
import { inSoak } from '../support/soak.js';
import { aService } from '../support/service.js';

const TEAMS = ['red', 'blue', 'green'];
const NAMES = 120;
const SEARCHES = inSoak(400, 20);
/** A small alphabet, so that texts repeat, with characters that SQL, JavaScript and Unicode treat differently. */
const LETTERS = [...'aabbcdexyz  %_\\-.\'"', 'É', 'ß', 'ſ', 'İ', 'Ω', '猫', '猫', '😀', 'e\u0301'];

interface Entry {
  readonly name: string;
  readonly version: string;
  readonly title: string;
  readonly description: string;
}

/** The entries of a source, and the team that sees each. */
interface SourceModel {
  readonly entries: readonly Entry[];
  readonly teamOf: (entry: Entry) => string;
}

// The managed source lies between two others, so that shadowing differs per caller.
describe('search', () => {
  const seed = Number(process.env['SEARCH_SEED'] ?? inSoak(randomInt(2 ** 31), 7));
  const random = new Random(seed);
  const text = (most: number) =>
    Array.from({ length: random.between(1, most) }, () => random.pick(LETTERS)).join('');
  const entries = (): Entry[] =>
    random
      .some(
        Array.from({ length: NAMES }, (_, index) => `io.acme/${'abcdefgh'[index % 8] ?? ''}${index}`),
        0.6,
      )
      .flatMap((name) =>
        ['2.0.0', '1.0.0'].slice(random.between(0, 1)).map((version) => ({
          name,
          version,
          title: `t${text(8)}`,
          description: `d${text(20)}`,
        })),
      );
  const red = entries();
  const blue = entries();
  const teamOf = new Map<string, string>();
  const published = entries();
  for (const { name } of published) if (!teamOf.has(name)) teamOf.set(name, random.pick(TEAMS));
  const SOURCES: readonly SourceModel[] = [
    { entries: red, teamOf: () => 'red' },
    { entries: published, teamOf: ({ name }) => teamOf.get(name) ?? '' },
    { entries: blue, teamOf: () => 'blue' },
  ];
  const service = aService({ mode: 'full' })
    .source('red', { servers: red.map(documentOf), claims: { team: 'red' } })
    .source('published', { kind: 'managed' })
    .source('blue', { servers: blue.map(documentOf), claims: { team: 'blue' } })
    .registry('main', { sources: ['red', 'published', 'blue'] })
    .runs();
  const admin = () => service.as(SUPER_ADMIN);

  beforeAll(async () => {
    // Published under other claims first, so that the index sees changes to claims.
    for (const entry of [...published].reverse()) {
      const publication = {
        ...aPublication('server', entry.name, { team: 'nobody' }, entry.version),
        server: documentOf(entry),
      };
      expect((await admin().post('/v1/entries', publication)).status).toBe(201);
    }
    for (const [name, team] of teamOf)
      expect((await admin().put(entryAt('server', name, '/claims'), { claims: { team } })).status).toBe(204);
  });

  /** Reference implementation of search (reference/catalog). */
  function expected(teams: readonly string[], search: string): string[] {
    const shown = new Map<string, Entry[]>();
    for (const { entries: held, teamOf: team } of SOURCES) {
      const visible = held.filter((entry) => teams.includes(team(entry)) && !shown.has(entry.name));
      for (const entry of visible) shown.set(entry.name, [...(shown.get(entry.name) ?? []), entry]);
    }
    const wanted = search.toLowerCase();
    return [...shown]
      .sort(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
      .flatMap(([, versions]) => versions)
      .filter((entry) =>
        [entry.name, entry.title, entry.description].some((field) => field.toLowerCase().includes(wanted)),
      )
      .map(({ name, version }) => `${name}@${version}`);
  }

  async function found(teams: readonly string[], search: string, limit: number): Promise<string[]> {
    const shown: string[] = [];
    const caller = service.as({ team: teams });
    for (
      let query: string | undefined = `search=${encodeURIComponent(search)}&limit=${limit}`;
      query !== undefined;
    ) {
      const page = await caller.get(`/registry/main/v0.1/servers?${query}`);
      shown.push(...versionsIn(page));
      const cursor = cursorIn(page);
      query = cursor === undefined ? undefined : `cursor=${cursor}`;
    }
    return shown;
  }

  it('finds exactly the visible entries with the text in name, title or description', async () => {
    const all = SOURCES.flatMap((held) => held.entries);
    for (let round = 0; round < SEARCHES; round += 1) {
      const { name, title, description } = random.pick(all);
      const field = [...random.pick([name, title, description])];
      const start = random.between(0, field.length - 1);
      const some = field.slice(start, start + random.between(1, 4)).join('');
      const search = random.chance(0.6) ? some : text(4);
      const teams = random.weigh([
        [1, []],
        [2, [random.pick(TEAMS)]],
        [1, ['red', 'green']],
        [1, TEAMS],
      ] as const);
      // Covers the walk over names, the text index and, once it has been read, the index in memory.
      const limit = random.pick([2, 3, 8]);
      expect({ seed, teams, search, found: await found(teams, search, limit) }).toEqual({
        seed,
        teams,
        search,
        found: expected(teams, search),
      });
    }
  });
});

function documentOf({ name, version, title, description }: Entry): Document {
  return aServer(name, version, { title, description });
}
