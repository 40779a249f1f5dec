import type {
  EntryType,
  PluginDocument,
  ServerDocument,
  ServerItem,
  SkillDocument,
  Status,
} from '../api/types.js';
import { hashOf } from '../navigation/route.js';

/** An entry of any type, as far as a card shows it. */
export interface Listed {
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

export function listedServer({ server, _meta }: ServerItem): Listed {
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

export function listedDocument(type: 'skill' | 'plugin', document: SkillDocument | PluginDocument): Listed {
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

export function transportsOf({ packages = [], remotes = [] }: ServerDocument): string[] {
  return [
    ...new Set([...remotes.map(({ type }) => type), ...packages.map(({ transport }) => transport.type)]),
  ];
}

function packageTypesOf(packages: readonly { readonly registryType: string }[] = []): string[] {
  return [...new Set(packages.map(({ registryType }) => registryType))];
}

export function entryHash(
  registry: string,
  { type, name }: Pick<Listed, 'type' | 'name'>,
  version?: string,
): string {
  return hashOf(['catalogue', registry, type, name, ...(version === undefined ? [] : [version])]);
}

/** What the list is narrowed to, as it stands in the address. */
export interface Narrowing {
  readonly type: EntryType;
  readonly search: string;
  readonly status: string;
  readonly transport: string;
  readonly packageType: string;
}

export function narrowingOf(query: URLSearchParams): Narrowing {
  const type = query.get('type');
  return {
    type: type === 'skill' || type === 'plugin' ? type : 'server',
    search: query.get('search') ?? '',
    status: query.get('status') ?? '',
    transport: query.get('transport') ?? '',
    packageType: query.get('package') ?? '',
  };
}

export function queryOf({ type, search, status, transport, packageType }: Narrowing): Record<string, string> {
  return { type: type === 'server' ? '' : type, search, status, transport, package: packageType };
}

/** Is there anything by which the API does not narrow? It searches, and it knows the status of all but servers. */
export function isNarrowedHere({ type, status, transport, packageType }: Narrowing): boolean {
  return transport !== '' || packageType !== '' || (type === 'server' && status !== '');
}

/** By these three the API does not narrow: they are looked at here, in what it has answered. */
export function isWithin(listed: Listed, { status, transport, packageType }: Narrowing): boolean {
  return (
    (status === '' || listed.status === status) &&
    (transport === '' || listed.transports.includes(transport)) &&
    (packageType === '' || listed.packageTypes.includes(packageType))
  );
}
