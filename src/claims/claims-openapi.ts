/** Claims of a source, registry or entry, as OpenAPI shows them. Their rules are stricter: see `findClaimsIssues`. */
export const CLAIMS_SCHEMA = {
  type: 'object' as const,
  additionalProperties: {
    oneOf: [
      { type: 'string' as const },
      { type: 'array' as const, items: { type: 'string' as const }, minItems: 1 },
    ],
  },
  example: { org: 'acme', team: ['platform'] },
};
