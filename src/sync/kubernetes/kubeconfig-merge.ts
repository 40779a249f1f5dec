import { dirname, resolve, sep } from 'node:path';
import { parse } from 'yaml';
import { elements, isObject, member } from '../../json/json-values.js';
import { ClusterError } from './cluster-error.js';

interface KubeconfigFile {
  /** An absolute path. */
  readonly path: string;
  readonly text: string;
}

/** A named cluster, user or context, such as `{ name, cluster: {…} }`. */
export type KubeconfigEntry = Readonly<Record<string, unknown>>;

/** The merged files, with absolute paths. */
export interface MergedKubeconfig {
  readonly clusters: readonly KubeconfigEntry[];
  readonly users: readonly KubeconfigEntry[];
  readonly contexts: readonly KubeconfigEntry[];
  readonly 'current-context'?: string;
}

/** Settings that name a file; `<key>-data` holds its content and takes precedence. */
const FILE_KEYS = ['certificate-authority', 'client-certificate', 'client-key'];

/**
 * Merges files as kubectl does (Organizing Cluster Access Using kubeconfig Files): the first file that defines a name
 * or a current context wins, and entries with the same name are not combined. Relative paths of certificates, keys,
 * `tokenFile` and `exec` commands with a slash are resolved against the directory of the file that contains them.
 *
 * @throws ClusterError if a file is not a kubeconfig.
 */
export function mergeKubeconfigs(files: readonly KubeconfigFile[]): MergedKubeconfig {
  const documents = files.map((file) => ({ document: parseFile(file), directory: dirname(file.path) }));
  const merged = (section: string, key: string) =>
    firstOfEachName(
      documents.flatMap(({ document, directory }) =>
        elements(member(document, section))
          .filter(isObject)
          .map((entry) => withResolvedPaths(entry, key, directory)),
      ),
    );
  const context = documents
    .map(({ document }) => member(document, 'current-context'))
    .find((name) => isText(name));
  return {
    clusters: merged('clusters', 'cluster'),
    users: merged('users', 'user'),
    contexts: merged('contexts', 'context'),
    ...(isText(context) ? { 'current-context': context } : {}),
  };
}

/** An empty file is a kubeconfig without entries. */
function parseFile({ path, text }: KubeconfigFile): KubeconfigEntry {
  let document: unknown;
  try {
    document = parse(text) ?? {};
  } catch {
    // The parser's message quotes the text, which contains credentials.
  }
  if (isObject(document)) return document;
  throw new ClusterError(`Cannot read the kubeconfig ${path}: it is not a kubeconfig`);
}

function firstOfEachName(entries: readonly KubeconfigEntry[]): KubeconfigEntry[] {
  const byName = new Map<unknown, KubeconfigEntry>();
  for (const entry of entries) if (!byName.has(entry['name'])) byName.set(entry['name'], entry);
  return [...byName.values()];
}

function withResolvedPaths(entry: KubeconfigEntry, key: string, directory: string): KubeconfigEntry {
  const settings = member(entry, key);
  if (!isObject(settings)) return entry;
  const resolved: Record<string, unknown> = { ...settings };
  for (const file of FILE_KEYS)
    if (isText(resolved[`${file}-data`])) resolved[file] = undefined;
    else if (isText(resolved[file])) resolved[file] = resolve(directory, resolved[file]);
  if (isText(resolved['tokenFile'])) resolved['tokenFile'] = resolve(directory, resolved['tokenFile']);
  const exec = resolved['exec'];
  const command = member(exec, 'command');
  // A command without a slash is looked up in PATH.
  if (isObject(exec) && isText(command) && command.includes(sep))
    resolved['exec'] = { ...exec, command: resolve(directory, command) };
  return { ...entry, [key]: resolved };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
