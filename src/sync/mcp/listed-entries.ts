import { createHash } from 'node:crypto';
import { isObject } from '../../json/json-values.js';
import type { Candidate } from '../entry-reader.js';

/**
 * What the list of all skills of a registry has shown, or of another type that is shown bare. Registries differ: most list the
 * latest version of each name, and ToolHive's lists every version.
 */
export class ListedEntries {
  /** Whether one page has held several versions of one name: then the list shows all there are. */
  showsAllVersions = false;
  private readonly names = new Set<string>();
  private readonly versions = new Set<string>();
  /** Of one page alone: while one goes from page to page, the latest version may become another one. */
  private onPage = new Map<string, string>();

  beginPage(): void {
    this.onPage = new Map();
  }

  add(candidate: Candidate): void {
    const version = versionOf(candidate);
    this.versions.add(version);
    const path = pathOf(candidate.document);
    if (path === null) return;
    this.names.add(path);
    if ((this.onPage.get(path) ?? version) !== version) this.showsAllVersions = true;
    this.onPage.set(path, version);
  }

  has(candidate: Candidate): boolean {
    return this.versions.has(versionOf(candidate));
  }

  /** Where below the list each name is, once. */
  paths(): readonly string[] {
    return [...this.names];
  }
}

function pathOf(document: unknown): string | null {
  if (!isObject(document)) return null;
  const { namespace, name } = document;
  if (typeof namespace !== 'string' || typeof name !== 'string') return null;
  // A step of dots would lead out of the list.
  if (![namespace, name].every((step) => /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(step))) return null;
  return `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

// What has no name or version is known by its text. A digest: both may be of any length.
function versionOf({ document, written }: Candidate): string {
  const { namespace, name, version } = isObject(document) ? document : {};
  const parts = [namespace, name, version];
  const isNamed = parts.every((part) => typeof part === 'string');
  return createHash('sha256')
    .update(isNamed ? JSON.stringify(parts) : written.text)
    .digest()
    .toString('latin1');
}
