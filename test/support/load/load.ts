import type { Sender } from '../http.js';
import type { Issuer } from '../issuer.js';
import { aChange, claimsTimeKey } from './changes.js';
import { aStartingState, LABELS, ROLES } from './catalogue.js';
import { Random } from '../random.js';
import { Connection } from './connection.js';
import { manyCallers, PROJECTS, type Reader, rsToken, SORTS_OF_CALLERS } from './callers.js';
import { expected } from './expected.js';
import { History } from './history.js';
import { install } from './installation.js';
import { type Read, Reading } from './reading.js';
import { type Replicas, startReplicas } from '../two-replicas.js';

export interface LoadOptions {
  readonly seed: number;
  readonly callers: number;
  /** Duration in ms; extended until every caller has sent a request. */
  readonly lasting: number;
  readonly connections: number;
}

/** All reads and changes, to be judged. */
export interface Load {
  readonly reads: readonly Read[];
  readonly history: History;
  /** ms from the first request to the last. */
  readonly took: number;
}

/** Reads per change: 5 % of all requests are changes. */
const READS_PER_CHANGE = 19;
const READS_A_TURN = 3;
/** How many changes the writer may fall behind before readers wait. */
const BEHIND = 4;

/** Many callers read from two replicas while one writer changes the catalog through both. */
export class LoadRun {
  private readonly crowd: readonly Reader[];
  private readonly random: Random;

  private constructor(
    readonly replicas: Replicas,
    private readonly issuer: Issuer,
    private readonly options: LoadOptions,
    private readonly history: History,
  ) {
    this.random = new Random(options.seed);
    this.crowd = this.random.shuffle(manyCallers(issuer, options.callers));
  }

  static async prepare(issuer: Issuer, options: LoadOptions): Promise<LoadRun> {
    const replicas = await startReplicas(issuer, ROLES);
    const state = aStartingState();
    const [first] = replicas.both;
    await install(state, first?.as({ role: 'super-admin' }) as Sender, replicas.folder);
    return new LoadRun(replicas, issuer, options, new History(state));
  }

  /** Checks that callers of one sort have equivalent claims and that no two sorts see the same. */
  checkCallers(): void {
    const { state } = this.history.at(0);
    const list = (of: string, type: 'server' | 'skill') =>
      ({ ask: 'list', of, type, filter: {}, limit: 100 }) as const;
    const shown = (callers: typeof state.callers, by: number) =>
      ['main', 'acme', 'flux', 'back']
        .flatMap((of) => [list(of, 'server'), list(of, 'skill')])
        .map((question) => expected({ ...state, callers }, by, question))
        .join('\n\n');
    const sights = SORTS_OF_CALLERS.map((_, sort) => shown(SORTS_OF_CALLERS, sort));
    if (new Set(sights).size < SORTS_OF_CALLERS.length) throw new Error('Two sorts of callers see the same');
    for (const { sort, claims } of this.crowd.slice(0, 3 * SORTS_OF_CALLERS.length))
      if (shown([claims], 0) !== sights[sort])
        throw new Error(`${JSON.stringify(claims)} belongs to another sort`);
  }

  async run(): Promise<Load> {
    const { options, history, crowd } = this;
    const { both } = this.replicas;
    const reads: Read[] = [];
    const since = new Date().toISOString();
    const reading = new Reading(this.random, () => history.newest.state, since);
    const writers = both.map(({ origin }) => new Connection(origin));
    const began = performance.now();
    let turns = 0;
    let asked = 0;
    let isCut = false;
    const isOver = () => isCut || (performance.now() - began > options.lasting && turns >= crowd.length);
    const read = async (connection: Connection) => {
      while (!isOver()) {
        const reader = crowd[turns++ % crowd.length];
        for (let turn = 0; reader && turn < READS_A_TURN && !isCut; turn += 1) {
          while (asked > READS_PER_CHANGE * (history.changes.length + BEHIND) && !isOver()) await soon();
          asked += 1;
          reads.push(await reading.read(reader, connection));
        }
      }
    };
    const change = async () => {
      while (!isOver()) {
        if (asked < READS_PER_CHANGE * history.changes.length) await soon();
        else await this.change(writers);
      }
    };
    const connections = Array.from(
      { length: options.connections },
      (_, index) => new Connection(both[index % both.length]?.origin ?? ''),
    );
    // All readers stop when one fails.
    const cut = (error: unknown) => {
      isCut = true;
      throw error;
    };
    const ends = await Promise.allSettled(
      [change, ...connections.map((one) => () => read(one))].map((work) => work().catch(cut)),
    );
    await Promise.all([...connections, ...writers].map((connection) => connection.close()));
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
    return { reads, history, took: performance.now() - began };
  }

  // Sequential, through either replica.
  private async change(writers: readonly Connection[]): Promise<void> {
    const { state } = this.history.newest;
    const change = aChange(state, this.random);
    const { method, path, body } = change;
    const token = this.tokens[change.by];
    const reply = await this.random.pick(writers).send(method, path, { token, body });
    if (!change.status.includes(reply.status))
      throw new Error(`${change.what}: ${reply.status} ${reply.answer.text}`);
    const result = reply.status === 204 ? {} : reply.answer.json;
    this.history.add({
      state: change.after(result, await this.claimsTimes()),
      change: change.what,
      begun: reply.began,
      acknowledged: reply.ended,
    });
  }

  // Read from the database: no response contains them.
  private async claimsTimes(): Promise<ReadonlyMap<string, string>> {
    const rows = await this.replicas.database.query<{
      source: string;
      type: 'server' | 'skill';
      name: string;
      at: Date;
    }>(
      `select s.name as source, e.type, e.name, e.claims_changed_at as at
       from entry e join source s on s.id = e.source_id where e.claims_changed_at is not null`,
    );
    return new Map(rows.map((row) => [claimsTimeKey(row.source, row), row.at.toISOString()]));
  }

  private get tokens() {
    return (this.known ??= {
      writer: rsToken(this.issuer, { sub: 'writer', role: 'writer', ...everyLabel() }),
      superAdmin: rsToken(this.issuer, { sub: 'sigrid', role: 'super-admin' }),
    });
  }

  private known: { writer: string; superAdmin: string } | undefined;
}

const soon = () => new Promise<void>((resolve) => setTimeout(resolve, 1));

// A publisher must hold the claims of the entry.
function everyLabel(): Record<string, string[]> {
  const held: Record<string, string[]> = {};
  for (const label of [...LABELS, { project: PROJECTS }])
    for (const [key, value] of Object.entries(label)) held[key] = [...(held[key] ?? []), ...[value].flat()];
  return held;
}
