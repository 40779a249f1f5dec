import { compare } from 'semver';
import { aCatalogue, aServer, type Document } from './documents.js';
import type { Random } from './random.js';

/** A version as a list shows it, without timestamps. */
export interface Shown {
  readonly server: Document;
  readonly status: string;
  readonly isLatest: boolean;
}

/** Documents by `name@version`. */
export type Listing = ReadonlyMap<string, Shown>;

const VERSIONS = ['1.0.0-rc.1', '1.0.0', '1.2.0', '1.10.0', '2.0.0+build.7'];
/** Names that several sources share; a registry shows the first source's. */
const SHARED = 6;

/** The expected list for these versions; derives which one of each name is latest. */
export function listingOf(versions: readonly Omit<Shown, 'isLatest'>[]): Listing {
  const latest = new Map<unknown, Omit<Shown, 'isLatest'>>();
  for (const version of versions) {
    const before = latest.get(version.server['name']);
    if (!before || isNewer(version, before)) latest.set(version.server['name'], version);
  }
  return new Map(
    versions.map((version) => [
      keyOf(version.server),
      { ...version, isLatest: latest.get(version.server['name']) === version },
    ]),
  );
}

export function keyOf({ name, version }: Document): string {
  return `${String(name)}@${String(version)}`;
}

/** A document that contains its generation. */
export function aDated(name: string, version: string, generation: number): Document {
  return aServer(name, version, {
    description: `Generation ${generation}`,
    odd: { ünï: [generation, null] },
  });
}

/** Some versions of some names, all documents of this generation. */
function someServers(source: string, generation: number, random: Random): Document[] {
  const own = Array.from({ length: 6 }, (_, index) => `io.day/${source}-${index}`);
  const shared = Array.from({ length: SHARED }, (_, index) => `io.day/shared-${index}`);
  const names = [own[0] ?? '', ...random.some(own.slice(1), 0.6), ...random.some(shared, 0.2)];
  return names.flatMap((name) => {
    const versions = random.some(VERSIONS, 0.4);
    return (versions.length > 0 ? versions : ['1.0.0']).map((version) => aDated(name, version, generation));
  });
}

/** A catalog that is replaced as a whole from time to time, each time a new generation, starting at 1. */
export class Shelf {
  /** The expected list of each generation, as comparable text. */
  readonly generations: string[] = [];
  listing: Listing = new Map();
  text = '';

  constructor(
    private readonly source: string,
    private readonly random: Random,
  ) {
    this.turn();
  }

  get generation(): number {
    return this.generations.length;
  }

  turn(): void {
    const servers = someServers(this.source, this.generation + 1, this.random);
    this.listing = listingOf(servers.map((server) => ({ server, status: 'active' })));
    this.generations.push(textOf(this.listing));
    this.text = JSON.stringify(aCatalogue(servers));
  }
}

/** A listing as text, independent of insertion order. */
export function textOf(listing: Listing): string {
  const sorted = [...listing].sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify(sorted.map(([key, { server, status, isLatest }]) => [key, status, isLatest, server]));
}

// The newest version that is not deleted, or else the newest.
function isNewer(one: Omit<Shown, 'isLatest'>, other: Omit<Shown, 'isLatest'>): boolean {
  const gone = Number(one.status === 'deleted') - Number(other.status === 'deleted');
  if (gone !== 0) return gone < 0;
  return compare(String(one.server['version']), String(other.server['version'])) > 0;
}
