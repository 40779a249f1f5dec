import type { EntryType, PluginDocument, ServerItem, SkillDocument, Status } from './types.js';

interface StatusesOf extends Record<EntryType, Status> {
  server: ServerItem['_meta']['io.modelcontextprotocol.registry/official']['status'];
  skill: NonNullable<SkillDocument['status']>;
  plugin: NonNullable<PluginDocument['status']>;
}

/** The statuses of each type in display order, and how a list request includes each status. */
const STATUSES: {
  readonly [T in EntryType]: Readonly<Record<StatusesOf[T], 'default' | 'include_deleted'>>;
} = {
  server: { active: 'default', deprecated: 'default', deleted: 'include_deleted' },
  skill: { active: 'default', deprecated: 'default', archived: 'default' },
  plugin: { active: 'default', deprecated: 'default', archived: 'default' },
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
  return Object.keys(STATUSES[type]) as Status[];
}

/** Returns whether a list contains versions with this status only on request. */
export function needsIncludeDeleted(type: EntryType, status: string): boolean {
  return new Map(Object.entries(STATUSES[type])).get(status) === 'include_deleted';
}
