import { isObject, member } from '../json/json-values.js';
import { parseHttpUrl } from '../validation/urls.js';
import { parseGitRepository } from './git-repository.js';
import { type FileUse, KINDS, type SettingsOf, type SourceKind, type WrittenSettings } from './kinds.js';

/** A setting that may name a file. */
export interface NamedFile {
  /** Where it stands below the kind. */
  readonly path: readonly string[];
  /** As it is written; undefined when it is absent. Anything, as long as the settings have not been checked. */
  readonly name: unknown;
  readonly use: FileUse;
}

/** The settings of a kind that name files of this machine, whether they are there or not. */
export function namedFiles(kind: SourceKind, settings: unknown): NamedFile[] {
  const files: Readonly<Record<string, FileUse>> = KINDS[kind].files;
  return Object.entries(files).map(([dotted, use]) => {
    const path = dotted.split('.');
    return { path, name: path.reduce(member, settings), use };
  });
}

/**
 * The settings as they are stored. Files stay paths: settings are stored in the database, what is in the files is not.
 *
 * @param written checked before.
 * @param absolute turns the path of a file into an absolute one.
 */
export function storedSettings<K extends SourceKind>(
  kind: K,
  written: WrittenSettings<K>,
  absolute: (file: string) => string,
): SettingsOf<K> {
  // Class instances, whose absent members are there as undefined, to plain data.
  const plain: unknown = JSON.parse(JSON.stringify(written));
  return namedFiles(kind, plain).reduce(
    (settings, { path }) => replaceText(settings, path, absolute),
    plain,
  ) as SettingsOf<K>;
}

function replaceText(
  tree: unknown,
  [step, ...rest]: readonly string[],
  replace: (text: string) => string,
): unknown {
  if (step === undefined) return typeof tree === 'string' ? replace(tree) : tree;
  if (!isObject(tree) || !Object.hasOwn(tree, step)) return tree;
  return { ...tree, [step]: replaceText(tree[step], rest, replace) };
}

/**
 * The host that a source is read from, and that is told its credentials: in lower case, an IPv6 address in brackets.
 *
 * @param settings of that kind, as they are stored.
 * @returns null when it is read from no other host.
 */
export function hostOf(kind: SourceKind, settings: unknown): string | null {
  const { address } = KINDS[kind];
  const value = address === null ? undefined : member(settings, address);
  const url = parseHttpUrl(value);
  if (url) return url.hostname;
  const repository = parseGitRepository(value);
  return repository?.protocol === 'ssh' ? repository.host.toLowerCase() : null;
}
