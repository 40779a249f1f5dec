import { statusesOf } from '../statuses.js';

const line = { type: 'string', format: 'line' } as const;
const prose = { type: 'string', format: 'prose' } as const;
const webUrl = { type: 'string', format: 'web-url' } as const;
const webReference = { type: 'string', format: 'web-reference' } as const;

/**
 * The rules for a skill document in the registry format. Unknown keys are allowed, except in `provenance`. `rule`
 * describes a pattern in words; the formats are in `DOCUMENT_FORMATS`.
 */
export const skillDocumentSchema = {
  type: 'object',
  required: ['namespace', 'name', 'description', 'version'],
  properties: {
    namespace: {
      type: 'string',
      minLength: 3,
      maxLength: 128,
      pattern: '^[a-zA-Z0-9][a-zA-Z0-9._-]*$',
      rule: 'must begin with a letter or digit and contain only letters, digits, dots, underscores and hyphens',
    },
    name: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      pattern: '^[a-z0-9][a-z0-9-]*[a-z0-9]$',
      rule:
        'must have at least two characters, only lower-case letters, digits and hyphens, and not begin or end with a ' +
        'hyphen',
    },
    description: { ...prose, minLength: 1, maxLength: 1024 },
    version: { type: 'string', minLength: 1, maxLength: 255 },
    status: { enum: statusesOf('skill') },
    title: { ...line, maxLength: 100 },
    license: { ...line, maxLength: 256 },
    compatibility: { ...prose, maxLength: 500 },
    allowedTools: { type: 'array', items: line, uniqueItems: true },
    repository: { type: 'object', properties: { url: webUrl, type: line } },
    icons: {
      type: 'array',
      items: {
        type: 'object',
        required: ['src'],
        properties: { src: webReference, size: line, type: line, label: line },
      },
    },
    packages: {
      type: 'array',
      items: {
        type: 'object',
        required: ['registryType'],
        properties: {
          registryType: { enum: ['oci', 'git'] },
          identifier: line,
          digest: line,
          mediaType: line,
          url: webUrl,
          ref: line,
          commit: line,
          subfolder: line,
        },
      },
    },
    provenance: {
      type: 'object',
      additionalProperties: false,
      properties: {
        sigstore_url: webReference,
        repository_uri: webReference,
        repository_ref: line,
        signer_identity: line,
        runner_environment: line,
        cert_issuer: webReference,
        attestation: {
          type: 'object',
          additionalProperties: false,
          properties: { predicate_type: line, predicate: { type: 'object' } },
        },
      },
    },
    metadata: { type: 'object' },
    _meta: { type: 'object' },
  },
} as const;

const SKILL_ONLY_KEYS = ['compatibility', 'allowedTools', 'provenance'];

/** The rules for a plugin document in the registry format: the rules for a skill without skill-only keys. */
export const pluginDocumentSchema = {
  ...skillDocumentSchema,
  properties: Object.fromEntries(
    Object.entries({ ...skillDocumentSchema.properties, status: { enum: statusesOf('plugin') } }).filter(
      ([key]) => !SKILL_ONLY_KEYS.includes(key),
    ),
  ),
};
