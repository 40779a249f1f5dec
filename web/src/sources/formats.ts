import type { Source } from '../api/types.js';

type Format = NonNullable<NonNullable<Source['sync']>['format']>;

/** What the formats of files and repositories are called. */
export const FORMATS: Readonly<Record<Format, string>> = {
  registry: 'Registry file',
  servers: 'Server documents',
  marketplace: 'Plugin marketplace',
  skills: 'Folders of skills',
};
