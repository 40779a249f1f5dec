import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { ACME_PLATFORM, SUPER_ADMIN } from '../callers.js';
import { aCatalogue, aServer, aSkill, type Document } from '../documents.js';
import type { Reply, Sender } from '../http.js';
import { consumerAt, entryAt, listAt, type Type } from '../publishing.js';
import { within } from '../within.js';
import type { Replicas } from '../two-replicas.js';
import type { Sight } from './watch.js';

/** A change that removes entries from the readers' view, and its reversal. */
export interface Withdrawal {
  readonly what: string;
  /** The markers that must disappear. */
  readonly gone: readonly string[];
  /** The registries they must disappear from. */
  readonly from: readonly string[];
  withdraw(manager: Sender): Promise<Reply>;
  giveBack(manager: Sender): Promise<Reply>;
}

/** Claims that every reader holds, and claims that none does. */
const SEEN = { org: 'acme' };
const UNSEEN = { org: 'initech' };
const REGISTRIES = { main: ['published', 'filed', 'other'], second: ['other', 'filed', 'published'] };
const BOTH = Object.keys(REGISTRIES);

const PUBLISHED: readonly [Type, string, readonly string[]][] = [
  ['server', 'io.acme/moving', ['1.0.0', '2.0.0']],
  ['server', 'io.acme/staying', ['1.0.0']],
  ['skill', 'io.acme/moving-skill', ['1.0.0', '2.0.0']],
  ['skill', 'io.acme/staying-skill', ['1.0.0']],
];
const FILED: readonly [Type, string, readonly string[]][] = [
  ['server', 'io.acme/in-file', ['1.0.0']],
  ['skill', 'io.acme/in-file-skill', ['1.0.0']],
];
const OTHER: readonly [Type, string, readonly string[]][] = [['server', 'io.acme/other', ['1.0.0']]];

const marksOf = (entries: typeof PUBLISHED) =>
  entries.flatMap(([, name, versions]) => versions.map((version) => markOf(name, version)));
/** All markers. */
export const MARKS = marksOf([...PUBLISHED, ...FILED, ...OTHER]);

/** No marker is a substring of another. */
function markOf(name: string, version: string): string {
  return `<${name.split('/')[1]} ${version}>`;
}

function documentOf(type: Type, name: string, version: string): Document {
  return (type === 'server' ? aServer : aSkill)(name, version, { description: markOf(name, version) });
}

function documentsIn(source: 'filed' | 'other', wanted: Type): Document[] {
  return (source === 'filed' ? FILED : OTHER)
    .filter(([type]) => type === wanted)
    .flatMap(([type, name, versions]) => versions.map((version) => documentOf(type, name, version)));
}

const PUBLICATIONS = PUBLISHED.flatMap(([type, name, versions]) =>
  versions.map((version) => ({ [type]: documentOf(type, name, version), claims: SEEN })),
);

const PATHS: readonly Pick<Sight, 'registry' | 'path'>[] = BOTH.flatMap((registry) => [
  ...(['server', 'skill'] as const).flatMap((type) =>
    ['', '?limit=100&version=latest', '?search=MOVING', '?search=in-FILE'].map((query) => ({
      registry,
      path: listAt(type, registry) + query,
    })),
  ),
  ...[...PUBLISHED, ...FILED, ...OTHER].flatMap(([type, name, versions]) =>
    ['', 'latest', ...versions].flatMap((version) => ({
      registry,
      path: consumerAt(type, name, version === '' ? '/versions' : `/versions/${version}`, registry),
    })),
  ),
  { registry, path: consumerAt('skill', 'io.acme/moving-skill', '', registry) },
]);

function putFile(
  sender: Sender,
  source: 'filed' | 'other',
  path: string,
  claims: object = SEEN,
): Promise<Reply> {
  return sender.put(`/v1/sources/${source}`, { file: { path }, syncPolicy: { interval: '1h' }, claims });
}

/**
 * Creates what will be withdrawn.
 * @returns every way to read it, with the expected markers once the files are synced.
 */
export async function prepareWithdrawals({ both: [first], folder }: Replicas): Promise<Sight[]> {
  const superAdmin = first?.as(SUPER_ADMIN) as Sender;
  await superAdmin.put('/v1/sources/published', { managed: {} });
  for (const source of ['filed', 'other'] as const) {
    const catalogue = aCatalogue(documentsIn(source, 'server'), documentsIn(source, 'skill'));
    await writeFile(fileIn(folder, source), JSON.stringify(catalogue));
    await putFile(superAdmin, source, fileIn(folder, source));
  }
  for (const publication of PUBLICATIONS) await superAdmin.post('/v1/entries', publication);
  for (const [name, sources] of Object.entries(REGISTRIES))
    await superAdmin.put(`/v1/registries/${name}`, { sources });
  for (const source of ['filed', 'other'])
    await within(30_000, async () => {
      const { json } = await superAdmin.get(`/v1/sources/${source}`);
      expect(json).toMatchObject({ sync: { status: 'complete' } });
    });
  return Promise.all(
    PATHS.map(async (way) => {
      let marks: readonly string[] = [];
      await within(30_000, async () => {
        const text = (await first?.as(ACME_PLATFORM).get(way.path))?.text ?? '';
        marks = MARKS.filter((mark) => text.includes(mark));
        expect(marks, way.path).not.toEqual([]);
      });
      return { ...way, marks };
    }),
  );
}

/** Changes an entry's claims to others that all readers hold, new to its source in each round. */
export function relabelForAll(manager: Sender, round: number): Promise<Reply> {
  const claims = { ...SEEN, round: String(round) };
  return manager.put(entryAt('server', 'io.acme/moving', '/claims'), { claims });
}

const fileIn = (folder: string, source: 'filed' | 'other') => join(folder, `${source}.json`);

/** @param folderOf the directory of the source files, once the replicas run. */
export function withdrawals(folderOf: () => string): Withdrawal[] {
  const relabelled = (type: Type, name: string): Withdrawal => ({
    what: `new claims of a published ${type}`,
    gone: ['1.0.0', '2.0.0'].map((version) => markOf(name, version)),
    from: BOTH,
    withdraw: (manager) => manager.put(entryAt(type, name, '/claims'), { claims: UNSEEN }),
    giveBack: (manager) => manager.put(entryAt(type, name, '/claims'), { claims: SEEN }),
  });
  const putMain = (manager: Sender, sources: readonly string[], claims: object) =>
    manager.put('/v1/registries/main', { sources, claims });
  const server = 'io.acme/moving';
  return [
    relabelled('server', server),
    relabelled('skill', 'io.acme/moving-skill'),
    {
      what: 'new claims of a source',
      gone: marksOf(FILED),
      from: BOTH,
      withdraw: (manager) => putFile(manager, 'filed', fileIn(folderOf(), 'filed'), UNSEEN),
      giveBack: (manager) => putFile(manager, 'filed', fileIn(folderOf(), 'filed')),
    },
    {
      what: 'the removal of a version',
      gone: [markOf(server, '2.0.0')],
      from: BOTH,
      withdraw: (manager) => manager.delete(entryAt('server', server, '/versions/2.0.0')),
      giveBack: (manager) =>
        manager.post('/v1/entries', { server: documentOf('server', server, '2.0.0'), claims: SEEN }),
    },
    {
      what: 'a source removed from a registry',
      gone: marksOf(PUBLISHED),
      from: ['main'],
      withdraw: (manager) => putMain(manager, ['filed', 'other'], {}),
      giveBack: (manager) => putMain(manager, REGISTRIES.main, {}),
    },
    {
      what: 'new claims of a registry',
      gone: MARKS,
      from: ['main'],
      withdraw: (manager) => putMain(manager, REGISTRIES.main, UNSEEN),
      giveBack: (manager) => putMain(manager, REGISTRIES.main, {}),
    },
  ];
}
