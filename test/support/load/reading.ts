import type { ModelState } from '../model/model.js';
import type { Answer } from './answer.js';
import { SERVERS, SKILLS, STEADY, UNSTEADY } from './catalogue.js';
import type { Random } from '../random.js';
import type { Connection } from './connection.js';
import type { Reader } from './callers.js';
import { type LoadQuestion, pathOf } from './questions.js';

/** One read, to be judged. */
export interface Read {
  readonly reader: Reader;
  readonly question: LoadQuestion;
  readonly status: number;
  /** The reader's current content: the response or, after a 304, the cached one with the same ETag. */
  readonly holds: Answer;
  readonly began: number;
  readonly ended: number;
}

/** A response cached by a reader, with its ETag. */
interface Remembered {
  readonly question: LoadQuestion;
  readonly etag: string;
  readonly answer: Answer;
}

const REMEMBERED = 8;

/** Reads as clients do: one request at a time, revalidating cached responses and following cursors. */
export class Reading {
  private readonly known = new Map<Reader, Remembered[]>();
  /** The last response that any reader got, by path. */
  private readonly lastByPath = new Map<string, Remembered>();

  /**
   * @param state the newest state, to choose existing targets.
   * @param since when the load began: RFC 3339.
   */
  constructor(
    private readonly random: Random,
    private readonly state: () => ModelState,
    private readonly since: string,
  ) {}

  async read(reader: Reader, connection: Connection): Promise<Read> {
    const again = this.known.get(reader) ?? [];
    const old = again.length > 0 && this.random.chance(0.5) ? this.random.pick(again) : undefined;
    const question = old?.question ?? this.followCursor(again.at(-1)) ?? this.aQuestion();
    const path = pathOf(question);
    // Another reader's ETag must not yield 304, unless both readers see the same content.
    const sent = old ?? (this.random.chance(0.1) ? this.lastByPath.get(path) : undefined);
    const encoding = this.random.weigh([
      [5, undefined],
      [3, 'gzip'],
      [2, 'br'],
    ] as const);
    const headers = {
      ...(sent ? { 'if-none-match': sent.etag } : {}),
      ...(encoding ? { 'accept-encoding': encoding } : {}),
    };
    const { status, etag, answer, began, ended } = await connection.send('GET', path, {
      token: reader.token,
      headers,
    });
    if (status === 304 && !sent) throw new Error('A 304 to a request without If-None-Match');
    const holds = status === 304 && sent ? sent.answer : answer;
    if (status === 200 && etag !== undefined) this.remember(reader, path, { question, etag, answer });
    return { reader, question, status, holds, began, ended };
  }

  private remember(reader: Reader, path: string, remembered: Remembered): void {
    const others = (this.known.get(reader) ?? []).filter(({ question }) => pathOf(question) !== path);
    this.known.set(reader, [...others.slice(1 - REMEMBERED), remembered]);
    this.lastByPath.set(path, remembered);
  }

  private followCursor(last: Remembered | undefined): LoadQuestion | undefined {
    if (last?.question.ask !== 'list' || !this.random.chance(0.5)) return undefined;
    const after = last.answer.next();
    return after && { ...last.question, after };
  }

  private aQuestion(): LoadQuestion {
    const { random } = this;
    const of = random.chance(0.7) ? random.pick(STEADY) : random.pick(UNSTEADY);
    const type = random.chance(0.8) ? ('server' as const) : ('skill' as const);
    const name = random.pick(type === 'server' ? SERVERS : SKILLS);
    const deleted = type === 'server' && random.chance(0.2);
    const ask = random.weigh([
      [5, 'list'],
      [2, 'versions'],
      [2, 'latest'],
      [2, 'exact'],
    ] as const);
    if (ask === 'versions') return { ask, of, type, name, version: '', deleted };
    if (ask === 'latest') return { ask: 'version', of, type, name, version: 'latest', deleted: false };
    if (ask === 'exact')
      return { ask: 'version', of, type, name, version: this.aVersion(name), deleted: false };
    const limit = random.pick([undefined, 3, 10, 100]);
    const filter = random.weigh([
      [4, {}],
      [2, { version: 'latest' }],
      [1, { version: '1.0.0' }],
      [2, { search: random.pick(['S-0', 'from shared', 'K-', 's-1', 'document 7']) }],
      [1, { deleted }],
      [1, { updatedSince: this.lately() }],
    ] as const);
    const forType = type === 'server' || 'search' in filter ? filter : {};
    return { ask, of, type, filter: forType, ...(limit === undefined ? {} : { limit }) };
  }

  private aVersion(name: string): string {
    const there = this.state().sources.flatMap(({ entries }) =>
      entries
        .filter((entry) => entry.name === name)
        .flatMap(({ versions }) => versions.map(({ version }) => version)),
    );
    return there.length === 0 || this.random.chance(0.1) ? '9.9.9' : this.random.pick(there);
  }

  private lately(): string {
    const at = Date.now() - this.random.next() * 4_000;
    return new Date(Math.max(at, Date.parse(this.since))).toISOString();
  }
}
