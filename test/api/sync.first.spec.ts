import { describe, expect, it } from 'vitest';
import { itemsFor, passTime } from '../support/admission.js';
import { aServer, aSkill } from '../support/documents.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const COUNT = 300;
const servers = Array.from({ length: COUNT }, (_, index) => aServer(`io.acme/s${index}`));
const skills = Array.from({ length: COUNT }, (_, index) => aSkill(`io.acme/t${index}`));

describe('the first sync of a source', () => {
  const service = aService()
    .source('file', { servers, skills })
    .source('curated', { servers, skills, admission: { minAge: '7d' } })
    .registry('main', { sources: ['file', 'curated'] })
    .runs();

  // Any other index would read all entries of the source up to the name: the time would grow with the square of their number.
  it('finds entries by the index of names before PostgreSQL has statistics, as does a release', async () => {
    await service.synced('file');
    await service.synced('curated');
    expect(await itemsFor(service)).not.toEqual([]);
    await passTime(service, '8d');
    await within(30_000, async () => expect(await itemsFor(service)).toEqual([]));
    await within(30_000, async () => {
      await service.database.query('select pg_stat_clear_snapshot()');
      const scans = await service.database.query<{ index: string; scans: number }>(
        `select indexrelname as index, idx_scan::int as scans from pg_stat_user_indexes where relname = 'entry'`,
      );
      const scansOf = (name: string) => scans.find(({ index }) => index === name)?.scans ?? 0;
      expect(scansOf('entry_source_id_type_name_key')).toBeGreaterThanOrEqual(4 * COUNT);
      expect(scansOf('entry_partition')).toBeLessThan(COUNT);
    });
  });
});
