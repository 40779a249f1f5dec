import { readFileSync } from 'node:fs';

/** The response to `GET /version` (reference/commands). */
export interface VersionReport {
  readonly version: string;
  readonly commit: string;
  readonly build_date: string;
  readonly node_version: string;
  readonly platform: string;
}

/** @param build set by the environment; its commit takes precedence over the one recorded by `npm run build`. */
export function versionReport(build: {
  commit: string | undefined;
  date: string | undefined;
}): VersionReport {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return {
    version: String((manifest as { version: unknown }).version),
    commit: build.commit ?? recordedCommit() ?? 'unknown',
    build_date: build.date ?? 'unknown',
    node_version: process.version,
    platform: `${process.platform}/${process.arch}`,
  };
}

/** Returns the commit recorded by `npm run build`; undefined if it ran without git. */
function recordedCommit(): string | undefined {
  try {
    return readFileSync(new URL('../commit.txt', import.meta.url), 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}
