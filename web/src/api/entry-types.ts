import type { EntryType, PluginDocument, ServerItem, SkillDocument, Status } from './types.js';

interface StatusesOf extends Record<EntryType, Status> {
  server: ServerItem['_meta']['io.modelcontextprotocol.registry/official']['status'];
  skill: NonNullable<SkillDocument['status']>;
  plugin: NonNullable<PluginDocument['status']>;
}

/** The statuses of each type in display order. */
const STATUSES: { readonly [T in EntryType]: readonly StatusesOf[T][] } = {
  server: ['active', 'deprecated', 'deleted'],
  skill: ['active', 'deprecated', 'archived'],
  plugin: ['active', 'deprecated', 'archived'],
};

/** The labels of the types in display order. */
export const TYPE_LABELS: Readonly<Record<EntryType, string>> = {
  server: 'Servers',
  skill: 'Skills',
  plugin: 'Plugins',
};

export const ENTRY_TYPES = Object.keys(TYPE_LABELS) as readonly EntryType[];

export function isEntryType(text: string | null): text is EntryType {
  return text !== null && Object.hasOwn(TYPE_LABELS, text);
}

export function statusesOf(type: EntryType): readonly Status[] {
  return STATUSES[type];
}
