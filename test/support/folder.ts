import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { aCatalogue } from './documents.js';

/**
 * A directory for the tests of one `describe`; exists before the service starts and is removed after the
 * tests.
 */
export function aFolder(): Folder {
  const folder = new Folder();
  afterAll(() => rmSync(folder.path, { recursive: true, force: true }));
  return folder;
}

export class Folder {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), 'registry-folder-')));

  constructor() {
    chmodSync(this.path, 0o755);
  }

  file(name: string): string {
    return join(this.path, name);
  }

  write(name: string, content: string): string {
    writeFileSync(this.file(name), content);
    return this.file(name);
  }

  /** Writes `NAME.json` with these documents. */
  catalogue(name: string, servers: unknown[], skills: unknown[] = []): string {
    return this.write(`${name}.json`, JSON.stringify(aCatalogue(servers, skills)));
  }
}
