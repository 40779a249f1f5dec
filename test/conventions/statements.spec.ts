import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** Folders whose statements are all in separate files. */
const CHECKED_FOLDERS = ['audit', 'claim-sets', 'registries', 'sources', 'sync', 'telemetry', 'visibility'];

async function sourceFiles(): Promise<{ path: string; text: string }[]> {
  const paths = await readdir('src', { recursive: true });
  const files = paths.filter((path) => path.endsWith('.ts') && !path.endsWith('.spec.ts'));
  return Promise.all(files.map(async (path) => ({ path, text: await readFile(join('src', path), 'utf8') })));
}

describe('a SQL statement', () => {
  it('that writes source_sync is in the files for sync state and lease only', async () => {
    const statement = /\b(update|insert\s+into|delete\s+from)\s+"?source_sync\b/i;
    const call = /getRepository\(SourceState\)|\b(insert|update|delete|save|upsert)\(SourceState\b/;
    const ofRepository = /Repository<SourceState>[^]*\.(insert|update|delete|save|upsert|increment)\(/;
    const writers = (await sourceFiles())
      .filter(({ text }) => [statement, call, ofRepository].some((writes) => writes.test(text)))
      .map(({ path }) => path);
    expect(writers.sort()).toEqual(['sources/source-leases.queries.ts', 'sources/source-states.queries.ts']);
  });

  it('mentions the table of held versions only in admission, and where no catalog read uses it', async () => {
    const users = (await sourceFiles())
      .filter(({ path }) => !path.startsWith('admission/'))
      .filter(({ text }) => /admission_(item|decision|question)|AdmissionItem\b/.test(text))
      .map(({ path }) => path);
    expect(users.sort()).toEqual([
      // Registers the entity.
      'app/entities.ts',
      // Deny-lists, which contain blocked versions (reference/client-config).
      'catalog/blocked-versions.queries.ts',
      // Fetches content that held versions wait for.
      'content/content-fetch.queries.ts',
      // Keeps the files of held versions.
      'content/content-store.queries.ts',
      'content/content.entity.ts',
      // Gives held versions the content that their sync has stored.
      'content/source-folders.queries.ts',
      // Hides held versions when the claims of a source change.
      'sources/inherited-claims.queries.ts',
      // Counts for the metrics.
      'sync/sync.queries.ts',
    ]);
  });

  it('is in a file named for it', async () => {
    const elsewhere = (await sourceFiles())
      .filter(
        ({ path }) => CHECKED_FOLDERS.includes(path.split('/')[0] ?? '') && !path.endsWith('.queries.ts'),
      )
      .filter(({ text }) => /\.query[<(]/.test(text))
      .map(({ path }) => path);
    expect(elsewhere).toEqual([]);
  });
});
