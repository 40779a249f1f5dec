/** The formats of Git and file sources (reference/sources). */
export const SOURCE_FORMATS = ['registry', 'servers', 'marketplace', 'skills'] as const;

export type SourceFormat = (typeof SOURCE_FORMATS)[number];
