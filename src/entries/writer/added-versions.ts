import { entryMapKey, type IncomingVersion } from '../../documents/incoming-version.js';
import { precedes } from '../latest-version.queries.js';
import { batches } from './batches.js';
import { versionColumns } from './version-columns.js';

/** Versions looked at without a pause: some milliseconds. */
const BATCH = 1_000;

/** The latest versions of the entries that came with a run, and the versions of other entries. */
export async function sortOut(
  added: readonly IncomingVersion[],
  created: ReadonlyMap<string, string>,
  now: Date,
): Promise<{ readonly latest: ReadonlySet<IncomingVersion>; readonly others: readonly IncomingVersion[] }> {
  const latest = new Map<string, IncomingVersion>();
  const others: IncomingVersion[] = [];
  for await (const batch of batches(added, BATCH))
    for (const version of batch) {
      const entry = entryMapKey(version);
      if (!created.has(entry)) {
        others.push(version);
        continue;
      }
      const other = latest.get(entry);
      if (!other || precedes(versionColumns(version, now), versionColumns(other, now)))
        latest.set(entry, version);
    }
  return { latest: new Set(latest.values()), others };
}
