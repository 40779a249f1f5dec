const text = { type: 'string' } as const;
const uri = { type: 'string', format: 'uri' } as const;

/** Those of the extension for skills; the first is the default. */
export const SKILL_STATUSES = ['active', 'deprecated', 'archived'] as const;

/** The rules of a skill document in the registry format. Keys it does not name are allowed, but not in `provenance`. `rule` says a pattern in words. */
export const skillDocumentSchema = {
  type: 'object',
  required: ['namespace', 'name', 'description', 'version'],
  properties: {
    namespace: {
      type: 'string',
      minLength: 3,
      maxLength: 128,
      pattern: '^[a-zA-Z0-9][a-zA-Z0-9._-]*$',
      rule: 'must begin with a letter or digit and hold only letters, digits, dots, underscores and hyphens',
    },
    name: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      pattern: '^[a-z0-9][a-z0-9-]*[a-z0-9]$',
      rule:
        'must have at least two characters, only letters in lower case, digits and hyphens, and neither begin nor end ' +
        'with a hyphen',
    },
    description: { type: 'string', minLength: 1, maxLength: 1024 },
    version: { type: 'string', minLength: 1, maxLength: 255 },
    status: { enum: SKILL_STATUSES },
    title: { type: 'string', maxLength: 100 },
    license: { type: 'string', maxLength: 256 },
    compatibility: { type: 'string', maxLength: 500 },
    allowedTools: { type: 'array', items: text, uniqueItems: true },
    repository: { type: 'object', properties: { url: uri, type: text } },
    icons: {
      type: 'array',
      items: {
        type: 'object',
        required: ['src'],
        properties: { src: text, size: text, type: text, label: text },
      },
    },
    packages: {
      type: 'array',
      items: {
        type: 'object',
        required: ['registryType'],
        properties: {
          registryType: { enum: ['oci', 'git'] },
          identifier: text,
          digest: text,
          mediaType: text,
          url: uri,
          ref: text,
          commit: text,
          subfolder: text,
        },
      },
    },
    provenance: {
      type: 'object',
      additionalProperties: false,
      properties: {
        sigstore_url: text,
        repository_uri: text,
        repository_ref: text,
        signer_identity: text,
        runner_environment: text,
        cert_issuer: text,
        attestation: {
          type: 'object',
          additionalProperties: false,
          properties: { predicate_type: text, predicate: { type: 'object' } },
        },
      },
    },
    metadata: { type: 'object' },
    _meta: { type: 'object' },
  },
} as const;
