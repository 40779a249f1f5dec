const DOING = [
  ...[
    'Reads',
    'Writes',
    'Searches',
    'Lists',
    'Compares',
    'Summarises',
    'Translates',
    'Validates',
    'Schedules',
  ],
  ...[
    'Watches',
    'Archives',
    'Publishes',
    'Reconciles',
    'Exports',
    'Imports',
    'Annotates',
    'Routes',
    'Deploys',
  ],
];
const THINGS = [
  ...[
    'invoices',
    'tickets',
    'calendars',
    'dashboards',
    'pipelines',
    'clusters',
    'queues',
    'tables',
    'buckets',
  ],
  ...['certificates', 'contracts', 'datasets', 'incidents', 'mailboxes', 'notebooks', 'orders', 'payments'],
  ...['playlists', 'repositories', 'schemas', 'sensors', 'shipments', 'spreadsheets', 'surveys', 'tracks'],
];
const PLACES = [
  ...[
    'in the warehouse',
    'of a tenant',
    'across regions',
    'behind the gateway',
    'from the archive',
    'for an audit',
  ],
  ...[
    'within a project',
    'by customer',
    'since the last release',
    'of the staging system',
    'für die Übergabe',
    '倉庫の中',
  ],
];
const OWNERS = ['acme', 'contoso', 'example', 'fabrikam', 'globex', 'initech', 'northwind', 'umbrella'];
const NAMESPACES = ['com', 'io', 'dev', 'org', 'io.github', 'com.gitlab'];
const KINDS = ['server', 'mcp', 'tools', 'bridge', 'agent', 'connector', 'proxy'];
const REGISTRY_TYPES = ['npm', 'pypi', 'oci', 'nuget'];

/** Documents are filled up to this size, in bytes of compact JSON. */
const SHORTEST = 1_500;
const LONGEST = 4_000;
/** The maximum size of a tool in the publisher's block, and how much of it keys and punctuation take. */
const ROOM_FOR_A_TOOL = 230;
const KEYS_AND_PUNCTUATION = 48;

/** Seeded pseudorandom integers (mulberry32). */
class Dice {
  constructor(private state: number) {}

  /** Returns a number from 0 to `sides - 1`. */
  roll(sides: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return (((mixed ^ (mixed >>> 14)) >>> 0) % sides) | 0;
  }

  pick<T>(among: readonly T[]): T {
    return among[this.roll(among.length)] as T;
  }
}

/** The `number`th name. Names are unique and their order is unrelated to their numbers. */
export function nameOf(number: number, seed: number): string {
  const dice = new Dice(seed ^ Math.imul(number, 0x9e3779b1));
  const namespace = `${dice.pick(NAMESPACES)}.${dice.pick(OWNERS)}-${dice.roll(1_000).toString(36)}`;
  return `${namespace}/${dice.pick(THINGS)}-${dice.pick(KINDS)}-${number.toString(36)}`;
}

/**
 * A valid server document of 1.5 to 4 KB. Versions of one entry differ as releases do: in version numbers and
 * parts of the publisher's block.
 * @param entry distinguishes entries of one name in several sources.
 * @param word appended to its title.
 */
export function serverDocument(
  name: string,
  version: string,
  entry: number,
  seed: number,
  word?: string,
): object {
  const dice = new Dice(seed ^ Math.imul(entry + 1, 0x85ebca6b));
  const id = name.slice(name.indexOf('/') + 1);
  const phrase = () => `${dice.pick(DOING)} ${dice.pick(THINGS)} ${dice.pick(PLACES)}`;
  const document = {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name,
    title: `${dice.pick(DOING)} ${dice.pick(THINGS)} ${id.slice(-5)}${word === undefined ? '' : ` ${word}`}`,
    description: `${phrase()} and ${phrase().toLowerCase()}`.slice(0, 95),
    version,
    websiteUrl: `https://${id}.example.com/docs`,
    repository: { url: `https://github.com/example/${id}`, source: 'github', id: String(dice.roll(1e9)) },
    packages: [
      {
        registryType: dice.pick(REGISTRY_TYPES),
        identifier: `@example/${id}`,
        version,
        runtimeHint: 'npx',
        transport: { type: 'stdio' },
        environmentVariables: Array.from({ length: 1 + dice.roll(3) }, (_, number) => ({
          name: `${dice.pick(THINGS).toUpperCase()}_TOKEN_${number}`,
          description: phrase(),
          isRequired: dice.roll(2) === 0,
          isSecret: true,
        })),
      },
    ],
    remotes: [{ type: 'streamable-http', url: `https://${id}.example.com/mcp` }],
  };
  const length = SHORTEST + dice.roll(LONGEST - SHORTEST - ROOM_FOR_A_TOOL);
  const tools: object[] = [];
  let room = length - JSON.stringify(document).length - 110;
  // The part that changes with each release begins here.
  const release = new Dice(seed ^ entry ^ Math.imul(Number(version.replaceAll(/\D/g, '')), 0xc2b2ae35));
  while (room > 0) {
    const said = tools.length % 4 === 0 ? release : dice;
    const tool = {
      name: `${said.pick(DOING)}_${said.pick(THINGS)}_${said.roll(1e6).toString(36)}`.toLowerCase(),
      description: `${said.pick(DOING)} ${said.pick(THINGS)} ${said.pick(PLACES)}`,
      inputs: [said.pick(THINGS), said.pick(THINGS)],
    };
    room -= KEYS_AND_PUNCTUATION + tool.name.length + tool.description.length + tool.inputs.join('').length;
    tools.push(tool);
  }
  const block = {
    'ghcr.io/example': { tags: [dice.pick(THINGS), dice.pick(KINDS)], stars: dice.roll(9_999), tools },
  };
  return { ...document, _meta: { 'io.modelcontextprotocol.registry/publisher-provided': block } };
}
