export type Document = Record<string, unknown>;

/** A small valid server document. */
export function aServer(name: string, version = '1.0.0', more: Document = {}): Document {
  return {
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name,
    description: `The server ${name}`.slice(0, 100),
    version,
    ...more,
  };
}

/** A small valid skill document; `name` is `namespace/name`. */
export function aSkill(name: string, version = '1.0.0', more: Document = {}): Document {
  const [namespace, short] = name.split('/');
  return { namespace, name: short, description: `The skill ${name}`, version, ...more };
}

/** A registry file with these documents. */
export function aCatalogue(servers: unknown[], skills: unknown[] = [], plugins?: unknown[]): Document {
  const data = { servers, skills, ...(plugins ? { plugins } : {}) };
  return { version: '1.0.0', meta: { last_updated: '2026-11-01T00:00:00Z' }, data };
}
