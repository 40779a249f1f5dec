// Its published types are of an older version, which knew no preference.
declare module 'negotiator' {
  import type { IncomingMessage } from 'node:http';

  export default class Negotiator {
    constructor(request: IncomingMessage);
    /** Those of `available` that the request accepts, best first; of equally welcome ones, the preferred. */
    encodings(available: string[], options: { preferred: string[] }): string[];
  }
}
