/** What the registry, and not the publisher, states about a version. Times are dates, or RFC 3339 text in UTC. */
export interface VersionState {
  readonly status: string;
  readonly statusChangedAt: Date | string;
  readonly statusMessage: string | null;
  readonly publishedAt: Date | string;
  readonly updatedAt: Date | string;
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
