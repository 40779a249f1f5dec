import type { EntityManager } from 'typeorm';
import { ENTRY_TYPES } from '../documents/entry-types.js';
import type { Status } from '../documents/statuses.js';
import { writeStatusInDocuments } from './entry-documents.queries.js';
import { type Entry, EntryVersion } from './entry.entity.js';

/** The status to set. */
export interface NewStatus {
  readonly status: Status;
  readonly message: string | null;
  readonly now: Date;
}

/**
 * Sets the status of one version of an entry, or of all, also in documents that contain it. Skips versions that already
 * have this status and message.
 *
 * @param version null for all versions.
 */
export async function updateStatus(
  manager: EntityManager,
  { id, type }: Pick<Entry, 'id' | 'type'>,
  version: string | null,
  { status, message, now }: NewStatus,
): Promise<void> {
  if (ENTRY_TYPES[type].hasStatusInDocument)
    await writeStatusInDocuments(manager, { id, type }, version, status);
  const statusChangedAt = () => 'case when status = :status then status_changed_at else :now end';
  await manager
    .createQueryBuilder()
    .update(EntryVersion)
    .set({ status, statusMessage: message, updatedAt: now, statusChangedAt })
    .where({ entryId: id, ...(version === null ? {} : { version }) })
    .andWhere('(status <> :status or status_message is distinct from :message)', { status, message, now })
    .execute();
}
