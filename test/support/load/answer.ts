import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { LoadQuestion } from './questions.js';

type Row = Record<string, unknown>;

/**
 * A raw body, parsed only when judged: parsing during the load would distort the times. The parsed form is not
 * cached: memory can hold hundreds of thousands of raw bodies, but not their parsed forms.
 */
export class Answer {
  constructor(
    readonly status: number,
    private readonly bytes: Buffer,
    private readonly encoding: string,
  ) {}

  /** The content as comparable text: the status, then one line per row, or the code of a refusal. */
  summary({ ask, type }: LoadQuestion): string {
    return this.summarise(ask === 'version', type === 'server');
  }

  /** The beginning of the next page, if any. */
  next(): { name: string; version: string; cursor: string } | undefined {
    const { servers, metadata } = this.json as {
      servers?: { server: { name: string; version: string } }[];
      metadata?: { nextCursor?: string };
    };
    const last = servers?.at(-1)?.server;
    const cursor = metadata?.nextCursor;
    return last && cursor !== undefined ? { name: last.name, version: last.version, cursor } : undefined;
  }

  get json(): Row {
    return JSON.parse(this.text) as Row;
  }

  get text(): string {
    if (this.encoding === 'gzip') return gunzipSync(this.bytes).toString();
    if (this.encoding === 'br') return brotliDecompressSync(this.bytes).toString();
    if (this.encoding === '') return this.bytes.toString();
    throw new Error(`Unexpected encoding ${this.encoding}`);
  }

  private summarise(isOne: boolean, isServer: boolean): string {
    const shown = this.json;
    if (this.status !== 200) return `${this.status} ${String(shown['code'])}`;
    const line = isServer ? serverLine : (row: Row) => JSON.stringify(row);
    if (isOne) return ['200', line(shown)].join('\n');
    const rows = shown[isServer ? 'servers' : 'skills'] as Row[];
    const { count, nextCursor } = shown['metadata'] as Row;
    const odd = count === rows.length ? [] : [`count ${String(count)}`];
    return ['200', ...rows.map(line), ...(nextCursor === undefined ? [] : ['more']), ...odd].join('\n');
  }
}

/** One version of a server, as a line of a summary. */
export function serverSummary(document: string, status: string, isLatest: boolean): string {
  return `${status}${isLatest ? ' latest' : ''} ${document}`;
}

function serverLine({ server, _meta }: Row): string {
  const { status, isLatest } =
    (_meta as Record<string, Row>)['io.modelcontextprotocol.registry/official'] ?? {};
  return serverSummary(JSON.stringify(server), String(status), isLatest === true);
}
