const WORDS =
  `account agent alert archive asset audit backup balance batch billing board branch bucket budget build cache calendar
  campaign catalog channel chart chat claim client cloud cluster comment commit contact content contract cost customer
  dashboard data database dataset deploy device diagram document domain draft email embedding event export feed file
  filter flow folder forecast form gateway graph group health image import inbox index insight invoice issue job journal
  key label lead ledger library license link list location log lookup mail map market media meeting memory message metric
  migration model monitor network node note notebook number object order outage owner page partner patch payment pipeline
  plan policy portal price process product profile project prompt proxy quality query queue quota rate record region
  release render repository request review role route rule sandbox scan schedule schema score search secret section
  segment sensor server session shipment signal site snapshot space sprint status stock storage stream survey table tag
  task team template tenant test thread ticket timeline token topic trace track translation trigger usage user vector
  version video view volume wallet warehouse weather webhook widget workflow workspace zone`.split(/\s+/);
const VERBS =
  `Archives Books Compares Creates Exports Finds Imports Lists Moves Reads Searches Sends Shares Updates`.split(
    ' ',
  );
const PEOPLE = 400;

/** What of the servers is different from the first edition of a catalogue. */
export interface Edition {
  /** One in ten has another description, and half of these another version; a further edition changes them again. */
  readonly number: number;
}

/**
 * Server documents of 1.5 to 4 KB, alike at every run: packages with arguments and variables, remotes, a publisher's block
 * with tools and tags, and words of their own for the search index.
 */
export function serverDocuments(count: number, { number }: Edition): object[] {
  return Array.from({ length: count }, (_, index) => serverDocument(index, index % 10 === 0 ? number : 0));
}

function serverDocument(index: number, edition: number): object {
  const dice = diceOf(index);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(dice() * from.length)] as T;
  const many = <T>(least: number, most: number, make: (place: number) => T): T[] =>
    Array.from({ length: least + Math.floor(dice() * (most - least + 1)) }, (_, place) => make(place));
  const word = () => pick(WORDS);
  const sentence = (least: number, most: number) => `${pick(VERBS)} ${many(least, most, word).join(' ')}`;
  const owner = `${word()}-${Math.floor(dice() * PEOPLE).toString(36)}`;
  const slug = `${word()}-${word()}-${index.toString(36)}`;
  const variable = () => ({
    name: `${word()}_${word()}`.toUpperCase(),
    description: sentence(3, 9),
    isRequired: dice() < 0.5,
    isSecret: dice() < 0.3,
    format: 'string',
  });
  const argument = (place: number) =>
    place === 0
      ? { type: 'positional', valueHint: word(), description: sentence(2, 6), isRequired: true }
      : { type: 'named', name: `--${word()}-${word()}`, description: sentence(2, 8), default: word() };
  const described = sentence(5, 12).slice(0, 80);
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: `io.github.${owner}/${slug}`,
    title: `${word()} ${word()}`,
    description: edition === 0 ? described : `${described}, edition ${edition}`,
    version: `${Math.floor(dice() * 4)}.${Math.floor(dice() * 20)}.${index % 20 === 0 ? edition : 0}`,
    websiteUrl: `https://${owner}.example.com/${slug}`,
    repository: { url: `https://github.com/${owner}/${slug}`, source: 'github', id: String(index * 7_919) },
    packages: [
      {
        registryType: pick(['npm', 'pypi']),
        identifier: slug,
        version: `1.${Math.floor(dice() * 30)}.0`,
        transport: { type: 'stdio' },
        environmentVariables: many(1, 4, variable),
        packageArguments: many(0, 4, argument),
      },
    ],
    ...(dice() < 0.4 && {
      remotes: [
        { type: 'streamable-http', url: `https://${owner}.example.com/mcp`, headers: many(0, 2, variable) },
      ],
    }),
    _meta: {
      'io.modelcontextprotocol.registry/publisher-provided': {
        [`io.github.${owner}`]: {
          [`docker.io/${owner}/${slug}:1`]: {
            status: 'Active',
            tier: pick(['Official', 'Community']),
            overview: `## ${word()}\n\n${sentence(45, 190)}.`,
            tags: many(2, 6, word),
            tools: many(3, 14, () => `${word()}_${word()}`),
            metadata: { stars: Math.floor(dice() * 9_000), last_updated: '2026-01-01T00:00:00Z' },
          },
        },
      },
    },
  };
}

// mulberry32: 32 bits of state are plenty for documents, and every server has a seed of its own.
function diceOf(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e3779b1);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
