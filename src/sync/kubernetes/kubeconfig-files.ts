import { dirname, resolve, sep } from 'node:path';
import { parse } from 'yaml';
import { elements, isObject, member } from '../../json/json-values.js';
import { ClusterError } from './cluster-error.js';

export interface KubeconfigFile {
  /** Absolute. */
  readonly path: string;
  readonly text: string;
}

/** A named cluster, user or context: `{ name, cluster: {…} }` and so on. */
export type KubeconfigEntry = Readonly<Record<string, unknown>>;

/** One kubeconfig, its paths absolute. */
export interface MergedKubeconfig {
  readonly clusters: readonly KubeconfigEntry[];
  readonly users: readonly KubeconfigEntry[];
  readonly contexts: readonly KubeconfigEntry[];
  readonly 'current-context'?: string;
}

/**
 * Merges files as kubectl does (Organizing Cluster Access Using kubeconfig Files): the first one that has an entry of a name,
 * or a current context, wins, and nothing of the later ones is added to it. Relative paths begin at the file they stand in:
 * those of certificates, keys and `tokenFile`, and a command with a slash. Data that stand in the file win over a path.
 *
 * @throws ClusterError that names the file that is no kubeconfig.
 */
export function mergeKubeconfigs(files: readonly KubeconfigFile[]): MergedKubeconfig {
  const documents = files.map((file) => ({ document: documentOf(file), directory: dirname(file.path) }));
  const merged = (
    section: string,
    resolvePaths: (entry: KubeconfigEntry, directory: string) => KubeconfigEntry,
  ) =>
    firstOfEachName(
      documents.flatMap(({ document, directory }) =>
        elements(member(document, section))
          .filter(isObject)
          .map((entry) => resolvePaths(entry, directory)),
      ),
    );
  const context = documents
    .map(({ document }) => member(document, 'current-context'))
    .find((name) => typeof name === 'string' && name !== '');
  return {
    clusters: merged('clusters', (entry, directory) =>
      withMember(entry, 'cluster', (cluster) => withFile(cluster, 'certificate-authority', directory)),
    ),
    users: merged('users', (entry, directory) =>
      withMember(entry, 'user', (user) =>
        withMember(
          withPath(
            withFile(withFile(user, 'client-certificate', directory), 'client-key', directory),
            'tokenFile',
            directory,
          ),
          'exec',
          (exec) => withCommand(exec, directory),
        ),
      ),
    ),
    contexts: merged('contexts', (entry) => entry),
    ...(typeof context === 'string' ? { 'current-context': context } : {}),
  };
}

// An empty file is a kubeconfig without entries.
function documentOf({ path, text }: KubeconfigFile): unknown {
  const document = parsed(text) ?? {};
  if (isObject(document)) return document;
  throw new ClusterError(`The kubeconfig ${path} could not be read: it is no kubeconfig`);
}

// The parser's message quotes the text, which holds credentials.
function parsed(text: string): unknown {
  try {
    return parse(text);
  } catch {
    return 'no YAML';
  }
}

function firstOfEachName(entries: readonly KubeconfigEntry[]): KubeconfigEntry[] {
  const byName = new Map<unknown, KubeconfigEntry>();
  for (const entry of entries) if (!byName.has(entry['name'])) byName.set(entry['name'], entry);
  return [...byName.values()];
}

function withMember(
  entry: KubeconfigEntry,
  key: string,
  change: (value: KubeconfigEntry) => KubeconfigEntry,
): KubeconfigEntry {
  const value = member(entry, key);
  return isObject(value) ? { ...entry, [key]: change(value) } : entry;
}

function withFile(entry: KubeconfigEntry, key: string, directory: string): KubeconfigEntry {
  return isText(entry[`${key}-data`]) ? { ...entry, [key]: undefined } : withPath(entry, key, directory);
}

function withPath(entry: KubeconfigEntry, key: string, directory: string): KubeconfigEntry {
  const path = entry[key];
  return isText(path) ? { ...entry, [key]: resolve(directory, path) } : entry;
}

// One without a slash is looked for on the PATH.
function withCommand(exec: KubeconfigEntry, directory: string): KubeconfigEntry {
  return isText(exec['command']) && exec['command'].includes(sep)
    ? withPath(exec, 'command', directory)
    : exec;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
