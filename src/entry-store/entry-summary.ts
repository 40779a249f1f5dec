import { ClientConfig, OMITTED, type ServerVersion } from '../client-config/client-config.js';
import { CLIENTS, type ClientName } from '../client-config/clients.js';
import { runsInToolHive } from '../client-config/connections.js';
import {
  type Document,
  ENTRY_TYPES,
  type EntryName,
  type IncomingVersion,
  publisherBlocks,
} from '../documents/entry-types.js';
import { elements, isObject, member, textMember } from '../json/json-values.js';
import { serverTokens } from '../members/members.js';
import { toStorable } from '../validation/storable-text.js';
import { parseTimestamp } from '../validation/value-checks.js';

/** The parts of a document that the ranked search (reference/search) compares and shows; stored as JSON with the latest version. */
export interface Summary {
  readonly title?: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly tools?: readonly string[];
  readonly transports: readonly string[];
  /** Tokens of the packages and remotes of a server: see `serverTokens`. */
  readonly packages?: readonly string[];
  readonly installable: boolean;
  /** What can run a server: the clients for which `client-config` can express it, and ToolHive. */
  readonly clients?: readonly ServerClient[];
  /** The tier that the publisher states, like the stars. */
  readonly tier?: string;
  readonly stars?: number;
  /** The date stated in the document, in RFC 3339. */
  readonly updated?: string;
}

export const SERVER_CLIENTS = [...CLIENTS, 'toolhive'] as const;
export type ServerClient = ClientName | 'toolhive';

/** Returns the summary of a version that is about to be stored, as JSON. */
export function summaryTextOf(version: IncomingVersion): string {
  return JSON.stringify(summaryOf({ ...version, document: version.document.toString() }));
}

/** @param version with its document as JSON text. */
export function summaryOf(
  version: EntryName & { readonly version: string; readonly document: string },
): Summary {
  const document = JSON.parse(version.document) as Document;
  const title = textMember(document, 'title');
  const description = textMember(document, 'description');
  const blocks = publisherBlocks(document);
  const tools = blocks.flatMap((block) => texts(elements(member(block, 'tools'))));
  const packages = version.type === 'server' ? serverTokens(document) : [];
  const clients = version.type === 'server' ? clientsFor({ ...version, parsed: document }) : [];
  const tier = blocks.map((block) => textMember(block, 'tier')).find((each) => each !== undefined);
  const stars = blocks.map((block) => member(member(block, 'metadata'), 'stars')).find(Number.isSafeInteger);
  const updated = ownDate(document);
  return {
    ...(title === undefined ? {} : { title: storable(title) }),
    ...(description === undefined ? {} : { description: storable(description) }),
    tags: distinct(ENTRY_TYPES[version.type].tagsOf(document)),
    ...(tools.length === 0 ? {} : { tools: distinct(tools) }),
    transports: distinct(transportsOf(document)),
    ...(packages.length === 0 ? {} : { packages: packages.map(storable) }),
    installable: clients.some((client) => client !== 'toolhive'),
    ...(clients.length === 0 ? {} : { clients }),
    ...(tier === undefined ? {} : { tier: storable(tier).slice(0, MAX_TIER) }),
    ...(stars === undefined ? {} : { stars: stars as number }),
    ...(updated ? { updated: updated.toISOString() } : {}),
  };
}

// Synced documents may contain escaped characters that PostgreSQL cannot store.
function storable(text: string): string {
  return toStorable(text, Infinity);
}

function distinct(values: readonly string[]): readonly string[] {
  return [...new Set(values.map(storable))];
}

/** Maximum length of a tier, in characters. */
const MAX_TIER = 50;
const CONFIGS = CLIENTS.map((client) => ({ client, config: new ClientConfig(client, 'servers') }));

function clientsFor(server: ServerVersion): readonly ServerClient[] {
  const able = CONFIGS.filter(({ config }) => !(OMITTED in config.of(server)));
  return [
    ...able.map(({ client }) => client),
    ...(runsInToolHive(server.parsed) ? (['toolhive'] as const) : []),
  ];
}

function transportsOf(document: Document): string[] {
  return [
    ...elements(document['remotes']).map((remote) => textMember(remote, 'type')),
    ...elements(document['packages']).map((each) => textMember(member(each, 'transport'), 'type')),
  ].filter((type) => type !== undefined);
}

// ToolHive's catalogs write this date into the publisher block, next to the tags and names of tools.
function ownDate(document: Document): Date | undefined {
  for (const block of publisherBlocks(document)) {
    const date = parseTimestamp(textMember(member(block, 'metadata'), 'last_updated') ?? '');
    if (date) return date;
  }
  return undefined;
}

/** Tools are names, or objects with a name. */
function texts(values: readonly unknown[]): string[] {
  return values
    .map((value) => (isObject(value) ? textMember(value, 'name') : value))
    .filter((value) => typeof value === 'string');
}
