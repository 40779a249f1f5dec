import { Connection } from './connection.js';

/** A resource and the markers in it: strings that only certain documents contain. */
export interface Sight {
  readonly registry: string;
  readonly path: string;
  /** The markers it shows while nothing is withdrawn. */
  readonly marks: readonly string[];
}

/** One response from a resource. */
export interface Seen {
  readonly sight: Sight;
  readonly status: number;
  readonly marks: readonly string[];
  readonly began: number;
  readonly ended: number;
}

/** A client's cache by resource; several connections share one client. */
type Known = Map<Sight, { etag: string; marks: readonly string[] }>;
const MEMORIES = 10;

/** Many connections, to all replicas, that keep reading all resources until stopped. */
export class Watch {
  readonly seen: Seen[] = [];
  private readonly connections: { connection: Connection; token: string; known: Known }[];
  private turns = 0;
  private isOver = false;
  private reading: Promise<unknown> = Promise.resolve();
  private failure: unknown;

  /**
   * @param marks all markers to look for.
   * @param tokens callers' tokens, one per connection.
   */
  constructor(
    origins: readonly string[],
    tokens: readonly string[],
    private readonly sights: readonly Sight[],
    private readonly marks: readonly string[],
  ) {
    const memories = Array.from({ length: MEMORIES }, (): Known => new Map());
    this.connections = tokens.map((token, index) => ({
      connection: new Connection(origins[index % origins.length] ?? ''),
      token,
      known: memories[Math.floor(index / origins.length) % MEMORIES] ?? new Map(),
    }));
  }

  begin(): void {
    this.reading = Promise.all(
      this.connections.map(({ connection, token, known }) =>
        this.read(connection, token, known).catch((error: unknown) => {
          this.failure ??= error;
          this.isOver = true;
        }),
      ),
    );
  }

  async end(): Promise<void> {
    this.isOver = true;
    await this.reading;
    await Promise.all(this.connections.map(({ connection }) => connection.close()));
    if (this.failure !== undefined) throw this.failure;
  }

  /** Resolves once each of these resources has responded to a request that began after this time. */
  async allSeenSince(time: number, sights: readonly Sight[]): Promise<void> {
    for (;;) {
      if (this.failure !== undefined) throw this.failure;
      const recent = new Set(this.seen.filter(({ began }) => began >= time).map(({ sight }) => sight));
      if (sights.every((sight) => recent.has(sight))) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  private async read(connection: Connection, token: string, known: Known): Promise<void> {
    while (!this.isOver) {
      const sight = this.sights[this.turns++ % this.sights.length];
      if (!sight) return;
      const remembered = known.get(sight);
      const headers: Record<string, string> = remembered ? { 'if-none-match': remembered.etag } : {};
      const { status, etag, answer, began, ended } = await connection.send('GET', sight.path, {
        token,
        headers,
      });
      // A caller keeps showing the response that came with the ETag after a 304.
      const marks =
        status === 304 && remembered
          ? remembered.marks
          : this.marks.filter((mark) => answer.text.includes(mark));
      this.seen.push({ sight, status, marks, began, ended });
      if (status === 200 && etag !== undefined) known.set(sight, { etag, marks });
    }
  }
}
