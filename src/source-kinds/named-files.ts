import { isObject, member } from '../json/json-values.js';
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
