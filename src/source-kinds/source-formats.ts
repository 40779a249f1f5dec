/** The formats that Git and file sources are read in (reference/sources). */
export const SOURCE_FORMATS = ['registry', 'servers', 'marketplace', 'skills'] as const;

export type SourceFormat = (typeof SOURCE_FORMATS)[number];
