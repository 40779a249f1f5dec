import type { Source } from '../api/types.js';

type Format = NonNullable<NonNullable<Source['sync']>['format']>;

/** The display names of file and repository formats. */
export const FORMATS: Readonly<Record<Format, string>> = {
  registry: 'Registry file',
  servers: 'Server documents',
  marketplace: 'Plugin marketplace',
  skills: 'Folders of skills',
};
