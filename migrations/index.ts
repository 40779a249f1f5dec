import { InitialSchema1795000000000 } from './1795000000000-initial-schema.js';

/** Every migration, oldest first. A released one is never edited: a change is a new file. */
export const migrations = [InitialSchema1795000000000];
