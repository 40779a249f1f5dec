// The published types describe an older version without `preferred`.
declare module 'negotiator' {
  import type { IncomingMessage } from 'node:http';

  export default class Negotiator {
    constructor(request: IncomingMessage);
    /** Returns the accepted encodings among `available`, best first; `preferred` breaks ties. */
    encodings(available: string[], options: { preferred: string[] }): string[];
  }
}
