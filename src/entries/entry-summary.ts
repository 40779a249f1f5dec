import { CLIENTS, ClientConfig, OMITTED } from '../client-config/client-config.js';
import { textMember } from '../client-config/template.js';
import { PUBLISHER_PROVIDED } from '../documents/document-rules.js';
import { type Document, ENTRY_TYPES, type EntryName } from '../documents/entry-types.js';
import type { Status } from '../documents/statuses.js';
import { elements, isObject, member } from '../json/json-values.js';
import { toStorable } from '../validation/storable-text.js';
import { parseTimestamp } from '../validation/value-checks.js';
import type { EntrySummary } from './entry-summary.entity.js';

/** The latest version of an entry. */
export interface LatestVersion extends EntryName {
  readonly entryId: string;
  readonly version: string;
  readonly status: Status;
  readonly document: string;
  /** When the document last changed here. */
  readonly changedAt: Date;
}

/** The columns of a summary that the server writes. */
export type WrittenSummary = Omit<EntrySummary, 'partitionId' | 'type' | 'name' | 'isOutdated'>;

/** Summarizes an entry for the ranked search (contract §6.3). */
export function summaryOf(latest: LatestVersion): WrittenSummary {
  const { entryId, type, name, version, status } = latest;
  const document = JSON.parse(latest.document) as Document;
  const title = storedMember(document, 'title');
  const description = storedMember(document, 'description');
  const tags = [...new Set(ENTRY_TYPES[type].tagsOf(document).map(storable))];
  const transports = [...new Set(transportsOf(document).map(storable))];
  const shown = {
    version,
    status,
    title,
    description,
    tags,
    transports,
    isInstallable: type === 'server' && CONFIGS.some((config) => !(OMITTED in config.of(latest))),
    updatedAt: ownDate(document) ?? latest.changedAt,
  };
  return {
    entryId,
    ...shown,
    bytes: Buffer.byteLength(JSON.stringify({ type, name, ...shown })),
  };
}

// Synced documents may contain escaped characters that PostgreSQL cannot store.
function storable(text: string): string {
  return toStorable(text, Infinity);
}

function storedMember(document: Document, key: string): string | null {
  const text = textMember(document, key);
  return text === undefined ? null : storable(text);
}

/** The servers that some client can express are installable. */
const CONFIGS = CLIENTS.map((client) => new ClientConfig(client, 'servers'));

function transportsOf(document: Document): string[] {
  return [
    ...elements(document['remotes']).map((remote) => textMember(remote, 'type')),
    ...elements(document['packages']).map((each) => textMember(member(each, 'transport'), 'type')),
  ].filter((type) => type !== undefined);
}

// ToolHive's catalogs write this date into the publisher block, beside the tags.
function ownDate(document: Document): Date | undefined {
  for (const publisher of valuesOf(member(document['_meta'], PUBLISHER_PROVIDED)))
    for (const block of valuesOf(publisher)) {
      const date = parseTimestamp(textMember(member(block, 'metadata'), 'last_updated') ?? '');
      if (date) return date;
    }
  return undefined;
}

function valuesOf(value: unknown): unknown[] {
  return isObject(value) ? Object.values(value) : [];
}
