import { MAX_URL_LENGTH } from '../../validation/urls.js';

const line = { type: 'string', format: 'line' } as const;
const prose = { type: 'string', format: 'prose' } as const;
const flag = { type: 'boolean' } as const;
const webUrl = { type: 'string', format: 'web-url' } as const;

const input = {
  type: 'object',
  properties: {
    description: prose,
    isRequired: flag,
    isSecret: flag,
    format: { type: 'string', enum: ['string', 'number', 'boolean', 'filepath'] },
    value: prose,
    default: prose,
    placeholder: prose,
    choices: { type: 'array', items: prose },
  },
} as const;
const variables = { type: 'object', propertyNames: line, additionalProperties: input } as const;
const inputWithVariables = { type: 'object', properties: { ...input.properties, variables } } as const;
const named = {
  type: 'object',
  required: ['name'],
  properties: { ...inputWithVariables.properties, name: line },
} as const;
const namedList = { type: 'array', items: named } as const;

// Uses `if` on `type`, so that errors are only about the intended branch.
const argument = {
  type: 'object',
  required: ['type'],
  properties: {
    ...inputWithVariables.properties,
    type: { enum: ['positional', 'named'] },
    isRepeated: flag,
  },
  if: { properties: { type: { const: 'named' } } },
  then: { required: ['name'], of: 'an argument', properties: { name: line } },
  else: { anyOf: [{ required: ['valueHint'] }, { required: ['value'] }], properties: { valueHint: line } },
} as const;
const argumentList = { type: 'array', items: argument } as const;

const url = {
  type: 'string',
  format: 'line',
  maxLength: MAX_URL_LENGTH,
  pattern: '^https?://[^\\s]+$',
  rule: 'must begin with http:// or https:// and contain no white space',
} as const;
const overHttp = { required: ['url'], of: 'a transport', properties: { url, headers: namedList } } as const;
const packageTransport = {
  type: 'object',
  required: ['type'],
  properties: { type: { enum: ['stdio', 'streamable-http', 'sse'] } },
  // An error about a missing URL would be misleading for an unknown type.
  if: { required: ['type'], properties: { type: { enum: ['streamable-http', 'sse'] } } },
  then: overHttp,
} as const;
const remote = {
  type: 'object',
  required: ['type', 'url'],
  of: 'a transport',
  properties: { type: { enum: ['streamable-http', 'sse'] }, url, headers: namedList, variables },
} as const;

const size = {
  type: 'string',
  pattern: '^(\\d+x\\d+|any)$',
  rule: 'must be a width and a height such as "48x48", or "any"',
} as const;
const icon = {
  type: 'object',
  required: ['src'],
  properties: {
    src: { ...webUrl, maxLength: 255 },
    mimeType: { enum: ['image/png', 'image/jpeg', 'image/jpg', 'image/svg+xml', 'image/webp'] },
    sizes: { type: 'array', items: size },
    theme: { enum: ['light', 'dark'] },
  },
} as const;

const packageSchema = {
  type: 'object',
  required: ['registryType', 'identifier', 'transport'],
  // The identifier of an mcpb package is its download URL.
  if: { required: ['registryType'], properties: { registryType: { const: 'mcpb' } } },
  then: { properties: { identifier: { format: 'web-reference' } } },
  properties: {
    registryType: line,
    identifier: line,
    // `packageVersionProblem` rejects "latest" and ranges.
    version: { ...line, minLength: 1 },
    registryBaseUrl: webUrl,
    fileSha256: {
      type: 'string',
      pattern: '^[a-f0-9]{64}$',
      rule: 'must be a SHA-256 digest of 64 lower-case hexadecimal digits',
    },
    runtimeHint: line,
    runtimeArguments: argumentList,
    packageArguments: argumentList,
    environmentVariables: namedList,
    transport: packageTransport,
  },
} as const;

/**
 * The rules for a server document, based on the server schema of 2025-12-11
 * (https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json). Unknown keys are allowed. The
 * formats, in `DOCUMENT_FORMATS`, are stricter than in that schema. Two keywords are our own, for messages: `rule`
 * describes a pattern in words, and `of` is the object whose `type` requires the keys.
 */
export const serverDocumentSchema = {
  type: 'object',
  required: ['name', 'description', 'version'],
  properties: {
    $schema: webUrl,
    name: {
      type: 'string',
      minLength: 3,
      maxLength: 200,
      pattern: '^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$',
      rule:
        'must be a namespace and a name separated by exactly one slash, such as "io.example/server", using only ' +
        'letters, digits, dots and hyphens, plus underscores after the slash',
    },
    description: { ...prose, minLength: 1, maxLength: 100 },
    title: { ...line, minLength: 1, maxLength: 100 },
    version: { type: 'string', minLength: 1, maxLength: 255 },
    websiteUrl: webUrl,
    repository: {
      type: 'object',
      required: ['url', 'source'],
      properties: { url: webUrl, source: line, id: line, subfolder: line },
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
