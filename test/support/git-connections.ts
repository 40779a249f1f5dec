import { AnonymousPolicy } from '../../dist/authz/access-policy.js';
import type { AdminFileRoot, Origin } from '../../dist/config/config.js';
import type { ProxyConfig } from '../../dist/outbound/dispatcher.js';
import type { ResolveAll } from '../../dist/outbound/name-resolution.js';
import type { SettingsOf } from '../../dist/source-kinds/kinds.js';
import { AdminFiles } from '../../dist/sources/admin-limits.js';
import { SourceFiles } from '../../dist/sync/file/source-files.js';
import { type GitConnection, GitConnections } from '../../dist/git/git-connection.js';
import { GitRemote } from '../../dist/git/git-remote.js';
import { GitTree } from '../../dist/git/git-tree.js';
import { ReadMemory } from '../../dist/sync/read-memory.js';

interface Options {
  readonly adminFileRoots?: readonly AdminFileRoot[];
  readonly adminAllowPrivateIP?: boolean;
  readonly resolve?: ResolveAll;
  readonly proxy?: ProxyConfig;
}

const LIMITS = {
  searchesPerCaller: 2,
  requestsInFlight: 1_000,
  connections: 2_000,
  claimSetsPerSource: 10_000,
  mebibytesPerFile: 64,
  versionsPerEntry: 1_000,
  bytesPerEntry: 64 * 1_024 * 1_024,
  publisherMeta: 256 * 1_024,
  apiSources: 1_000,
  apiRegistries: 1_000,
  changesPerMinute: 600,
  searchIndexBytes: 192 * 1_024 * 1_024,
  keepAliveMs: 65_000,
};

/** Connects to the repository of a source with these settings and no claims. */
export function connectionTo(
  settings: SettingsOf<'git'>,
  origin: Origin,
  { adminFileRoots = [], adminAllowPrivateIP = false, resolve, proxy }: Options = {},
): Promise<GitConnection> {
  const limits = {
    adminFileRoots,
    adminAllowPrivateIP,
    adminKubernetesNamespaces: [],
    adminOpenAccess: false,
  };
  const files = new SourceFiles(new AdminFiles(limits, new AnonymousPolicy()), LIMITS);
  return new GitConnections(limits, files, resolve, proxy).connectionTo({
    kind: 'git',
    settings,
    claims: {},
    origin,
  });
}

/** Fetches the commit that a source with these settings reads; callers must close it. */
export async function fetchTree(settings: SettingsOf<'git'>): Promise<GitTree> {
  const connection = await connectionTo(settings, 'config');
  return GitTree.fetch(await GitRemote.open(connection, new AbortController().signal), settings);
}

/** Returns the text of `registry.json`. */
export async function registryFileIn(remote: GitRemote, settings: SettingsOf<'git'>): Promise<string> {
  const tree = await GitTree.fetch(remote, settings);
  const file = await tree.find('registry.json');
  if (!file) throw new Error('The commit has no registry.json');
  return (await tree.readWhole(file, new ReadMemory().begin())).bytes.toString();
}
