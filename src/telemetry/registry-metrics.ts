import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram } from 'prom-client';
import { ENTRY_TYPE_NAMES, type EntryType } from '../documents/entry-types.js';
import { KINDS, SOURCE_KINDS, type SourceKind } from '../source-kinds/kinds.js';
import { Metrics } from './metrics.js';

export type AuthOutcome = 'accepted' | 'refused' | 'incomplete' | 'unavailable' | 'limited';

/** Sentences that say why a token was refused, and the label of each: labels never come from a token. */
const REASONS: Readonly<Record<string, string>> = {
  'the token has expired': 'expired',
  'jwt expired': 'expired',
  'the token is not valid yet': 'not_yet_valid',
  'jwt not active': 'not_yet_valid',
  'the token has no expiry': 'no_expiry',
  'the expiry is malformed': 'malformed',
  'the "not before" time is malformed': 'malformed',
  'the subject is malformed': 'malformed',
  'the key id is malformed': 'malformed',
  'jwt malformed': 'malformed',
  'invalid token': 'malformed',
  'the token is no JWT': 'no_jwt',
  'the issuer is another one': 'other_issuer',
  'the audience is another one': 'other_audience',
  'the audience is missing or malformed': 'other_audience',
  'the type is not that of an access token': 'other_type',
  'the algorithm is not accepted': 'algorithm',
  'the header demands extensions': 'algorithm',
  'the provider has no such key': 'unknown_key',
  'invalid signature': 'signature',
  'jwt signature is required': 'signature',
  'the token is not active': 'not_active',
};

/** Metrics of who is let in: what each identity provider said of the tokens it was asked about. */
@Injectable()
export class AuthMetrics {
  private readonly outcomes: Counter<'provider' | 'outcome' | 'reason'>;

  constructor({ register }: Metrics) {
    this.outcomes = new Counter({
      name: 'registry_authentications_total',
      help: 'Tokens by identity provider: accepted, or why not; a token that several providers refuse counts once for each',
      labelNames: ['provider', 'outcome', 'reason'],
      registers: [register],
    });
  }

  /** @param provider its name in the configuration. */
  accepted(provider: string): void {
    this.outcomes.inc({ provider, outcome: 'accepted', reason: '' });
  }

  /** @param reason the sentence for the log, of which only known ones become a label. */
  failed(provider: string, outcome: Exclude<AuthOutcome, 'accepted'>, reason: string): void {
    const known = Object.hasOwn(REASONS, reason) ? REASONS[reason] : undefined;
    this.outcomes.inc({ provider, outcome, reason: known ?? 'other' });
  }

  /** A request without a usable token, which no provider was asked about. */
  missing(reason: 'no_token' | 'unusable'): void {
    this.outcomes.inc({ provider: '', outcome: 'refused', reason });
  }
}

/** Metrics of what is read and published on this replica. */
@Injectable()
export class CatalogMetrics {
  private readonly pages: Counter<'outcome'>;
  private readonly publications: Counter<'entry_type'>;

  constructor({ register }: Metrics) {
    const registers = [register];
    this.pages = new Counter({
      name: 'registry_page_cache_requests_total',
      help: 'Pages of the consumer API that were found ready to send (hit), and that had to be read (miss)',
      labelNames: ['outcome'],
      registers,
    });
    this.publications = new Counter({
      name: 'registry_publications_total',
      help: 'Versions that were published through this replica',
      labelNames: ['entry_type'],
      registers,
    });
    // Prometheus sees an increase only in a series that it has scraped before.
    for (const outcome of ['hit', 'miss']) this.pages.inc({ outcome }, 0);
    for (const entry_type of ENTRY_TYPE_NAMES) this.publications.inc({ entry_type }, 0);
  }

  pageFound(): void {
    this.pages.inc({ outcome: 'hit' });
  }

  pageRead(): void {
    this.pages.inc({ outcome: 'miss' });
  }

  published(type: EntryType): void {
    this.publications.inc({ entry_type: type });
  }
}

/** Published entries are not synced: there is nothing to count. */
const COUNTED = SOURCE_KINDS.filter((kind) => KINDS[kind].filledBy !== 'publishing');
/**
 * How a run may end. `superseded`: the source changed hands or settings meanwhile, and nothing was written. `cut_off`: by a
 * stop of the server, or because PostgreSQL was not reachable.
 */
const OUTCOMES = ['complete', 'unchanged', 'failed', 'superseded', 'cut_off'] as const;
const CHANGES = ['added', 'changed', 'removed', 'skipped'] as const;
const DURATIONS_S = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];

export type RunOutcome = (typeof OUTCOMES)[number];

/** Metrics of the runs of this replica. For kubernetes, a run is one write of what has changed in the cluster. */
@Injectable()
export class SyncMetrics {
  private readonly durations: Histogram<'kind' | 'outcome'>;
  private readonly runs: Counter<'kind' | 'outcome'>;
  private readonly entries: Counter<'kind' | 'change'>;
  private readonly running: Gauge<'kind'>;

  constructor({ register }: Metrics) {
    const registers = [register];
    this.durations = new Histogram({
      name: 'registry_sync_duration_seconds',
      help: 'How long the syncs of this replica took',
      labelNames: ['kind', 'outcome'],
      buckets: DURATIONS_S,
      registers,
    });
    this.runs = new Counter({
      name: 'registry_sync_runs_total',
      help: 'Syncs of this replica that have ended',
      labelNames: ['kind', 'outcome'],
      registers,
    });
    this.entries = new Counter({
      name: 'registry_sync_entries_total',
      help: 'Versions that the syncs of this replica have added, changed and removed, or skipped because they are not valid',
      labelNames: ['kind', 'change'],
      registers,
    });
    this.running = new Gauge({
      name: 'registry_sync_running',
      help: 'Syncs of this replica that are under way',
      labelNames: ['kind'],
      registers,
    });
    this.beginAtZero();
  }

  /** Counts a run that begins. @returns to be called with its outcome when it ends. */
  begin(kind: SourceKind): (outcome: RunOutcome) => void {
    const started = performance.now();
    this.running.inc({ kind });
    return (outcome) => {
      this.running.dec({ kind });
      this.runs.inc({ kind, outcome });
      this.durations.observe({ kind, outcome }, (performance.now() - started) / 1_000);
    };
  }

  wrote(kind: SourceKind, counts: Readonly<Record<(typeof CHANGES)[number], number>>): void {
    for (const change of CHANGES) this.entries.inc({ kind, change }, counts[change]);
  }

  // Prometheus sees an increase only in a series that it has scraped before.
  private beginAtZero(): void {
    for (const kind of COUNTED) {
      this.running.set({ kind }, 0);
      for (const outcome of OUTCOMES) this.runs.inc({ kind, outcome }, 0);
      for (const change of CHANGES) this.entries.inc({ kind, change }, 0);
    }
  }
}
