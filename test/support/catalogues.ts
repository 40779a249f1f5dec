import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const EXAMPLES = resolve(import.meta.dirname, '../../examples');

/** A folder with more catalogs, such as real-world data; not part of this repository (see .ci/run). */
export const MORE_CATALOGUES = process.env['TEST_CATALOGUES'];

/** The example catalogs and those of `TEST_CATALOGUES`, in ToolHive's format. */
export const CATALOGUES = [
  ...['catalog.json', 'second-team.json'].map((file) => resolve(EXAMPLES, file)),
  ...(MORE_CATALOGUES === undefined
    ? []
    : readdirSync(MORE_CATALOGUES)
        .filter((file) => file.endsWith('.json'))
        .sort()
        .map((file) => resolve(MORE_CATALOGUES, file))),
].map((path) => ({ path, text: readFileSync(path, 'utf8') }));
