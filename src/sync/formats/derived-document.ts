import { cutAtWord, documentDescriptionOf } from '../../documents/derived-text.js';
import { isLine } from '../../documents/document-problem.js';
import { elements, isObject, member } from '../../json/json-values.js';
import { parseHttpUrl } from '../../validation/urls.js';

/** The limits in the schema of skills and plugins. */
const MAX_TITLE = 100;
const MAX_LICENSE = 256;
const MAX_TAGS = 50;
const MAX_TAG = 100;
/** Number of digits of a tree's or commit's ID that form a version. */
const VERSION_DIGITS = 12;

/** The location of a document's package. */
interface GitPackage {
  readonly url: string;
  readonly commit?: string;
  readonly ref?: string;
  /** Empty for the whole repository. */
  readonly folder: string;
}

interface DerivedDocument {
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  readonly package: GitPackage;
  /** The descriptions, such as a manifest followed by a marketplace entry: the first that states a property decides. */
  readonly statedBy: readonly unknown[];
}

/**
 * Returns the document of a skill or plugin (reference/sources). Blank text and values that are not text are omitted.
 */
export function derivedDocument({
  namespace,
  name,
  version,
  package: { url, commit, ref, folder },
  statedBy,
}: DerivedDocument): Record<string, unknown> {
  const first = <T>(key: string, read: (value: unknown) => T | undefined): T | undefined => {
    for (const one of statedBy) {
      const found = read(member(one, key));
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const tags = [
    ...(first('tags', labelsOf) ?? []),
    ...statedBy.flatMap((one) => labelsOf([member(one, 'category')]) ?? []).slice(0, 1),
  ];
  const document = {
    namespace,
    name,
    title: first('displayName', (value) => lineOf(value, MAX_TITLE)),
    description: first('description', documentDescriptionOf),
    version,
    license: first('license', (value) => lineOf(value, MAX_LICENSE)),
    repository: first('repository', repositoryOf),
    homepage: first('homepage', webUrlOf),
    author: first('author', authorOf),
    keywords: first('keywords', labelsOf),
    tags: tags.length > 0 ? distinct(tags) : undefined,
    packages: [
      {
        registryType: 'git',
        url,
        ref,
        commit,
        subfolder: folder === '' ? undefined : folder,
      },
    ],
  };
  // Omits undefined members.
  return JSON.parse(JSON.stringify(document)) as Record<string, unknown>;
}

/** Returns the first version that is stated, or else one derived from an ID; undefined if there is neither. */
export function derivedVersion(statedBy: readonly unknown[], id: string | undefined): string | undefined {
  for (const one of statedBy) {
    const version = member(one, 'version');
    // Some manifests state a number.
    if (typeof version === 'number') return String(version);
    if (typeof version === 'string' && version.trim() !== '') return version.trim();
  }
  return id?.slice(0, VERSION_DIGITS);
}

function lineOf(value: unknown, limit: number): string | undefined {
  const text = textOf(value)?.replaceAll(/\s+/g, ' ');
  return text && cutAtWord(text, limit);
}

function textOf(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim() : '';
  return text === '' ? undefined : text;
}

function webUrlOf(value: unknown): string | undefined {
  return parseHttpUrl(value) && String(value);
}

/** Manifests have an address or, as in npm, an object with one. */
function repositoryOf(value: unknown): { url: string; type: string } | undefined {
  const url = textOf(isObject(value) ? value['url'] : value)?.replace(/^git\+/, '');
  return webUrlOf(url) === undefined ? undefined : { url: String(url), type: 'git' };
}

/** Manifests have a name, or an object with one. */
function authorOf(value: unknown): Record<string, string> | undefined {
  const given = typeof value === 'string' ? { name: value } : value;
  const stated = ['name', 'email', 'url'].flatMap((key) => {
    const text = textOf(member(given, key));
    return text !== undefined && isLine(text) ? [[key, cutAtWord(text, MAX_LICENSE)] as const] : [];
  });
  return stated.length > 0 ? Object.fromEntries(stated) : undefined;
}

/** Returns the labels of a list; undefined if there are none. */
function labelsOf(value: unknown): string[] | undefined {
  const labels = elements(value)
    .flatMap((label) => textOf(label) ?? [])
    .filter((label) => label.length <= MAX_TAG && isLine(label));
  return labels.length > 0 ? distinct(labels).slice(0, MAX_TAGS) : undefined;
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
