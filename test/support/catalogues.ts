import { resolve } from 'node:path';

/** The folder of registry files to test with: the examples, or another folder, such as real-world data. */
export const CATALOGUES = process.env['TEST_CATALOGUES'] ?? resolve(import.meta.dirname, '../../examples');
