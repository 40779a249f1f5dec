import type {
  EntryType,
  PluginDocument,
  ServerDocument,
  ServerItem,
  SkillDocument,
  Status,
} from '../api/types.js';
import { hashOf } from '../navigation/route.js';

/** The parts of an entry that its card shows, the same for all types. */
export interface EntrySummary {
  readonly type: EntryType;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly version: string;
  readonly status: Status;
  readonly updatedAt: string | undefined;
  readonly icons: readonly { readonly src: string; readonly theme?: string }[];
  readonly transports: readonly string[];
  readonly packageTypes: readonly string[];
}

export const OFFICIAL = 'io.modelcontextprotocol.registry/official';

export function summarizeServer({ server, _meta }: ServerItem): EntrySummary {
  const official = _meta[OFFICIAL];
  return {
    type: 'server',
    name: server.name,
    title: server.title ?? '',
    description: server.description,
    version: server.version,
    status: official.status,
    updatedAt: official.updatedAt,
    icons: server.icons ?? [],
    transports: transportsOf(server),
    packageTypes: packageTypesOf(server.packages),
  };
}

export function summarizeDocument(
  type: 'skill' | 'plugin',
  document: SkillDocument | PluginDocument,
): EntrySummary {
  return {
    type,
    name: `${document.namespace}/${document.name}`,
    title: document.title ?? '',
    description: document.description,
    version: document.version,
    status: document.status ?? 'active',
    updatedAt: undefined,
    icons: document.icons ?? [],
    transports: [],
    packageTypes: packageTypesOf(document.packages),
  };
}

function transportsOf({ packages = [], remotes = [] }: ServerDocument): string[] {
  return [
    ...new Set([...remotes.map(({ type }) => type), ...packages.map(({ transport }) => transport.type)]),
  ];
}

function packageTypesOf(packages: readonly { readonly registryType: string }[] = []): string[] {
  return [...new Set(packages.map(({ registryType }) => registryType))];
}

export function entryHash(
  registry: string,
  { type, name }: Pick<EntrySummary, 'type' | 'name'>,
  version?: string,
): string {
  return hashOf(['catalogue', registry, type, name, ...(version === undefined ? [] : [version])]);
}
