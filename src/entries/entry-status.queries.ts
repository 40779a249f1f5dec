import type { EntityManager } from 'typeorm';
import type { EntryVersion } from './entry.entity.js';

/** A version with the document it is to have. */
export type NewDocument = Pick<EntryVersion, 'version' | 'document' | 'digest'>;

/**
 * Gives versions of an entry a status, with the documents that carry it. One that has the status already, message included,
 * is left as it is.
 */
export async function updateStatus(
  manager: EntityManager,
  entryId: string,
  versions: readonly NewDocument[],
  status: string,
  message: string | null,
  now: Date,
): Promise<void> {
  await manager.query(
    `update entry_version v
     set status = $2, status_message = $3, document = n.document, digest = n.digest,
       updated_at = $4, status_changed_at = case when v.status = $2 then v.status_changed_at else $4 end
     from unnest($5::text[], $6::text[], $7::bytea[]) as n(version, document, digest)
     where v.entry_id = $1 and v.version = n.version
       and (v.status <> $2 or v.status_message is distinct from $3)`,
    [
      entryId,
      status,
      message,
      now,
      versions.map(({ version }) => version),
      versions.map(({ document }) => document),
      versions.map(({ digest }) => digest),
    ],
  );
}
