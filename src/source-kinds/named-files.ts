import { isObject, member } from '../json/json-values.js';
import { parseHttpUrl } from '../validation/urls.js';
import { parseGitRepository } from './git-repository.js';
import { type FileUse, KINDS, type SettingsOf, type SourceKind, type WrittenSettings } from './kinds.js';

/** A setting that can contain the path of a file. */
export interface NamedFile {
  /** The path of the setting below the kind. */
  readonly path: readonly string[];
  /** The configured value; undefined if absent. May have any type in unchecked settings. */
  readonly name: unknown;
  readonly use: FileUse;
}

/** Returns a kind's file settings, including those that are not set. */
export function namedFiles(kind: SourceKind, settings: unknown): NamedFile[] {
  const files: Readonly<Record<string, FileUse>> = KINDS[kind].files;
  return Object.entries(files).map(([dotted, use]) => {
    const path = dotted.split('.');
    return { path, name: path.reduce(member, settings), use };
  });
}

/**
 * Returns the settings in their stored form. Files are stored as paths, so the database contains no file contents.
 *
 * @param written validated settings.
 * @param absolute converts a file path to an absolute one.
 */
export function storedSettings<K extends SourceKind>(
  kind: K,
  written: WrittenSettings<K>,
  absolute: (file: string) => string,
): SettingsOf<K> {
  // Converts class instances to plain data without undefined members.
  const plain: unknown = JSON.parse(JSON.stringify(written));
  return namedFiles(kind, plain).reduce(
    (settings, { path }) => replaceText(settings, path, absolute),
    plain,
  ) as SettingsOf<K>;
}

/**
 * Returns the settings without the paths of secret files, which are shown to nobody if the configuration contains them.
 */
export function withoutSecretFiles(kind: SourceKind, settings: object): object {
  return namedFiles(kind, settings)
    .filter(({ use }) => use === 'credential')
    .reduce<unknown>((shown, { path }) => replaceText(shown, path, () => undefined), settings) as object;
}

function replaceText(
  tree: unknown,
  [step, ...rest]: readonly string[],
  replace: (text: string) => string | undefined,
): unknown {
  if (step === undefined) return typeof tree === 'string' ? replace(tree) : tree;
  if (!isObject(tree) || !Object.hasOwn(tree, step)) return tree;
  return { ...tree, [step]: replaceText(tree[step], rest, replace) };
}

/**
 * Returns the host from which a source is read and to which its credentials are sent. The host is in lower case, with
 * IPv6 addresses in brackets.
 *
 * @param settings stored settings of that kind.
 * @returns null if the source is not read from a host.
 */
export function hostOf(kind: SourceKind, settings: unknown): string | null {
  const { address } = KINDS[kind];
  const value = address === null ? undefined : member(settings, address);
  const url = parseHttpUrl(value);
  if (url) return url.hostname;
  const repository = parseGitRepository(value);
  return repository?.protocol === 'ssh' ? repository.host.toLowerCase() : null;
}
