const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const uri = { type: 'string', format: 'uri' } as const;

const input = {
  type: 'object',
  properties: {
    description: text,
    isRequired: flag,
    isSecret: flag,
    format: { type: 'string', enum: ['string', 'number', 'boolean', 'filepath'] },
    value: text,
    default: text,
    placeholder: text,
    choices: { type: 'array', items: text },
  },
} as const;
const variables = { type: 'object', additionalProperties: input } as const;
const inputWithVariables = { type: 'object', properties: { ...input.properties, variables } } as const;
const named = {
  type: 'object',
  required: ['name'],
  properties: { ...inputWithVariables.properties, name: text },
} as const;
const namedList = { type: 'array', items: named } as const;

// One shape by the value of `type`: an error then speaks of the branch that was meant, not of all of them.
const argument = {
  type: 'object',
  required: ['type'],
  properties: {
    ...inputWithVariables.properties,
    type: { enum: ['positional', 'named'] },
    isRepeated: flag,
  },
  if: { properties: { type: { const: 'named' } } },
  then: { required: ['name'], properties: { name: text } },
  else: { anyOf: [{ required: ['valueHint'] }, { required: ['value'] }], properties: { valueHint: text } },
} as const;
const argumentList = { type: 'array', items: argument } as const;

const url = { type: 'string', pattern: '^https?://[^\\s]+$' } as const;
const overHttp = { required: ['url'], properties: { url, headers: namedList } } as const;
const packageTransport = {
  type: 'object',
  required: ['type'],
  properties: { type: { enum: ['stdio', 'streamable-http', 'sse'] } },
  if: { properties: { type: { const: 'stdio' } } },
  else: overHttp,
} as const;
const remote = {
  type: 'object',
  required: ['type', 'url'],
  properties: { type: { enum: ['streamable-http', 'sse'] }, url, headers: namedList, variables },
} as const;

const icon = {
  type: 'object',
  required: ['src'],
  properties: {
    src: { type: 'string', format: 'uri', maxLength: 255 },
    mimeType: { enum: ['image/png', 'image/jpeg', 'image/jpg', 'image/svg+xml', 'image/webp'] },
    sizes: { type: 'array', items: { type: 'string', pattern: '^(\\d+x\\d+|any)$' } },
    theme: { enum: ['light', 'dark'] },
  },
} as const;

const packageSchema = {
  type: 'object',
  required: ['registryType', 'identifier', 'transport'],
  properties: {
    registryType: text,
    identifier: text,
    version: { type: 'string', minLength: 1, not: { const: 'latest' } },
    registryBaseUrl: uri,
    fileSha256: { type: 'string', pattern: '^[a-f0-9]{64}$' },
    runtimeHint: text,
    runtimeArguments: argumentList,
    packageArguments: argumentList,
    environmentVariables: namedList,
    transport: packageTransport,
  },
} as const;

/**
 * The rules of a server document, after the server schema of 2025-12-11
 * (https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json). Keys it does not name are allowed.
 */
export const serverDocumentSchema = {
  type: 'object',
  required: ['name', 'description', 'version'],
  properties: {
    $schema: uri,
    name: { type: 'string', minLength: 3, maxLength: 200, pattern: '^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$' },
    description: { type: 'string', minLength: 1, maxLength: 100 },
    title: { type: 'string', minLength: 1, maxLength: 100 },
    version: { type: 'string', minLength: 1, maxLength: 255 },
    websiteUrl: uri,
    repository: {
      type: 'object',
      required: ['url', 'source'],
      properties: { url: uri, source: text, id: text, subfolder: text },
    },
    icons: { type: 'array', items: icon },
    packages: { type: 'array', items: packageSchema },
    remotes: { type: 'array', items: remote },
    _meta: {
      type: 'object',
      properties: { 'io.modelcontextprotocol.registry/publisher-provided': { type: 'object' } },
    },
  },
} as const;
