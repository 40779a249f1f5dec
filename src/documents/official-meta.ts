/** What the registry, and not the publisher, says of a version. Dates are RFC 3339 in UTC. */
export interface VersionState {
  readonly status: string;
  readonly statusChangedAt: string;
  readonly statusMessage: string | null;
  readonly publishedAt: string;
  readonly updatedAt: string;
  readonly isLatest: boolean;
}

/** The `_meta` beside a document (contract §6), as JSON. */
export function officialMeta(state: VersionState): string {
  const official = {
    status: state.status,
    statusChangedAt: state.statusChangedAt,
    ...(state.statusMessage === null ? {} : { statusMessage: state.statusMessage }),
    publishedAt: state.publishedAt,
    updatedAt: state.updatedAt,
    isLatest: state.isLatest,
  };
  return `{"io.modelcontextprotocol.registry/official":${JSON.stringify(official)}}`;
}
