import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { aDatabase } from '../support/database.js';
import { aCatalogue, aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';

const ROOT = resolve(import.meta.dirname, '../..');
const REFUSED = /it redirects, and 127\.0\.0\.1 is at a private address, which is not allowed here$/;

/** Runs in a network namespace, if root may create one, or a user may become root in one. */
async function inNamespace(...command: string[]): Promise<string> {
  const asUser = process.getuid?.() === 0 ? [] : ['--map-root-user'];
  const { stdout } = await promisify(execFile)('unshare', [...asUser, '--net', '--mount', ...command]);
  return stdout;
}

describe('a server with public and private upstreams', () => {
  const folder = aFolder();
  let found: {
    sources: Record<string, { status: string; error: string | null }>;
    statuses: number[];
  };
  beforeAll(async () => {
    const database = await aDatabase();
    const options = {
      program: resolve(ROOT, 'dist/main.js'),
      folder: folder.path,
      database: database.connection,
      page: JSON.stringify({ servers: [{ server: aServer('io.acme/one') }], metadata: { count: 1 } }),
      file: JSON.stringify(aCatalogue([aServer('io.acme/one')])),
    };
    const script = resolve(ROOT, 'test/support/internet.mjs');
    found = JSON.parse(await inNamespace(process.execPath, script, JSON.stringify(options))) as typeof found;
    await database.drop();
  });

  it.each(['public-name', 'public-address', 'public-file'])(
    'does not follow a redirect from a public address to a private one: %s',
    (source) => {
      expect(found.sources[source]).toEqual({ status: 'failed', error: expect.stringMatching(REFUSED) });
    },
  );

  it.each(['private-name', 'private-address', 'searched', 'in-hosts'])(
    'follows a redirect between private addresses: %s',
    (source) => {
      expect(found.sources[source]).toEqual({ status: 'complete', error: null });
    },
  );

  it('asks its identity provider while name servers of upstreams are silent', () => {
    expect(found.statuses).toEqual([200, 200, 200, 200, 200]);
  });
});
