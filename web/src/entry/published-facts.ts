/** A tool listed in the document. */
interface Tool {
  readonly name: string;
  readonly description: string;
}

/** Facts about an entry that publishers state outside the document's own members. */
export interface PublishedFacts {
  readonly tier: string | undefined;
  /** Markdown. */
  readonly overview: string | undefined;
  readonly tags: readonly string[];
  readonly tools: readonly Tool[];
  /** RFC 3339; the date that the publisher states. */
  readonly updatedAt: string | undefined;
  readonly stars: number | undefined;
  readonly permissions: readonly Fact[];
  readonly provenance: readonly Fact[];
}

export interface Fact {
  readonly name: string;
  readonly value: string;
}

/**
 * Reads tags, tools, permissions and provenance from the publisher-provided extension and, for skills, from the
 * document. Publishers can put anything there, so the code assumes nothing about its shape.
 */
export function publishedFacts(document: object): PublishedFacts {
  const extension = member(member(document, '_meta'), 'io.modelcontextprotocol.registry/publisher-provided');
  const blocks = values(extension).flatMap(values);
  const first = (read: (block: unknown) => unknown) =>
    blocks.map(read).find((value) => value !== undefined && value !== null);
  const updatedAt = text(first((block) => member(member(block, 'metadata'), 'last_updated')));
  const stars = first((block) => member(member(block, 'metadata'), 'stars'));
  return {
    tier: text(first((block) => member(block, 'tier'))),
    overview: text(first((block) => member(block, 'overview'))),
    tags: [...new Set(blocks.flatMap((block) => texts(member(block, 'tags'))))],
    tools: toolsOf(document, blocks),
    updatedAt: updatedAt !== undefined && !Number.isNaN(Date.parse(updatedAt)) ? updatedAt : undefined,
    stars: typeof stars === 'number' ? stars : undefined,
    permissions: permissionsOf(first((block) => member(block, 'permissions'))),
    provenance: provenanceOf(member(document, 'provenance') ?? first((block) => member(block, 'provenance'))),
  };
}

function toolsOf(document: object, blocks: readonly unknown[]): readonly Tool[] {
  const tools = new Map<string, Tool>();
  for (const block of blocks) {
    for (const definition of list(member(block, 'tool_definitions'))) {
      const name = text(member(definition, 'name'));
      const description = text(member(definition, 'description')) ?? '';
      if (name !== undefined) tools.set(name, { name, description });
    }
    for (const name of texts(member(block, 'tools')))
      if (!tools.has(name)) tools.set(name, { name, description: '' });
  }
  for (const name of texts(member(document, 'allowedTools'))) tools.set(name, { name, description: '' });
  return [...tools.values()];
}

/** ToolHive's permission profile: https://docs.stacklok.com/toolhive/guides-cli/custom-permissions. */
function permissionsOf(profile: unknown): readonly Fact[] {
  const outbound = member(member(profile, 'network'), 'outbound');
  const ports = list(member(outbound, 'allow_port')).map(String);
  const hosts = texts(member(outbound, 'allow_host'));
  const network = [
    ...(member(outbound, 'insecure_allow_all') === true ? ['any host'] : hosts),
    ...(ports.length > 0 ? [`${ports.length > 1 ? 'ports' : 'port'} ${ports.join(', ')}`] : []),
  ];
  return facts([
    ['Network', network.join(', ')],
    ['Reads files', texts(member(profile, 'read')).join(', ')],
    ['Writes files', texts(member(profile, 'write')).join(', ')],
    ['Privileged', member(profile, 'privileged') === true ? 'yes' : ''],
  ]);
}

function provenanceOf(provenance: unknown): readonly Fact[] {
  return facts(
    (
      [
        ['Built from', 'repository_uri'],
        ['Revision', 'repository_ref'],
        ['Signed by', 'signer_identity'],
        ['Runner', 'runner_environment'],
        ['Certificate issuer', 'cert_issuer'],
        ['Sigstore', 'sigstore_url'],
      ] as const
    ).map(([name, key]) => [name, text(member(provenance, key)) ?? ''] as const),
  );
}

function facts(pairs: readonly (readonly [name: string, value: string])[]): readonly Fact[] {
  return pairs.filter(([, value]) => value !== '').map(([name, value]) => ({ name, value }));
}

function member(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function texts(value: unknown): string[] {
  return list(value).filter((each) => typeof each === 'string');
}

function values(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}
