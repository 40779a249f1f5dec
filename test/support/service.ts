import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, expect } from 'vitest';
import { stringify } from 'yaml';
import type { Reloaded } from '../../dist/app/reload.js';
import { type RunningService, startService } from '../../dist/app/start-service.js';
import type { Config } from '../../dist/config/config.js';
import { loadConfig } from '../../dist/config/load-config.js';
import { versionReport } from '../../dist/health/version-report.js';
import { createLogger } from '../../dist/telemetry/logger.js';
import { type AuthOptions, authSection } from './auth-section.js';
import { aDatabase, type TestDatabase } from './database.js';
import { aCatalogue, type Document } from './documents.js';
import { call, callWith, type Reply, Sender, type Sent } from './http.js';
import { anIssuer } from './issuer.js';
import { pollNow } from './polling.js';
import { findSecrets } from './secrets.js';

const FIRST_SYNCS_MS = 60_000;

interface DeclaredSource {
  /** `file` by default. */
  kind?: 'file' | 'managed' | 'git' | 'api' | 'kubernetes';
  /** Settings of the kind; a file's path is filled in. */
  settings?: Document;
  servers?: unknown[];
  skills?: unknown[];
  plugins?: unknown[];
  /** The file's text, for invalid catalogs. */
  text?: string;
  /** The file does not exist, even if an earlier declaration wrote it. */
  missing?: boolean;
  filter?: unknown;
  admission?: unknown;
  claims?: unknown;
  interval?: string;
}

interface DeclaredRegistry {
  sources: string[];
  claims?: unknown;
  anonymous?: { claims: Document };
  /** The test writes the secret files. */
  keys?: { name: string; secretFile: string; claims: Document; expires?: string }[];
  publishClaims?: Document;
  marketplace?: { name: string; owner: string };
}

export interface SourceReport {
  status: string;
  error?: string;
  attempts: number;
  format: string | null;
  counts: Record<string, number>;
  skipped: { name: string | null; version: string | null; reasons: string[] }[];
}

export interface LogLine {
  level: string;
  msg: string;
  [field: string]: unknown;
}

/** Describes a service; `runs()` starts it before the tests of the file and stops it after them. */
export function aService(auth: AuthOptions = {}): ServiceUnderTest {
  return new ServiceUnderTest().auth(auth);
}

export class ServiceUnderTest extends Sender {
  readonly log: string[] = [];
  /** The identity provider of the oauth modes. */
  readonly issuer = anIssuer();
  /** Environment variables, as of the next start. */
  readonly environment: Record<string, string> = {};
  /** Listen address, as of the next start. */
  address = '127.0.0.1:0';
  database: TestDatabase;
  private readonly sources = new Map<string, DeclaredSource>();
  private readonly registries = new Map<string, DeclaredRegistry>();
  private readonly tokens = new Map<string, string>();
  private authOptions: AuthOptions = {};
  private extra: Document = {};
  private folder = '';
  private running: RunningService | undefined;

  source(name: string, declared: DeclaredSource): this {
    this.sources.set(name, declared);
    return this;
  }

  withoutSource(name: string): this {
    this.sources.delete(name);
    return this;
  }

  registry(name: string, declared: DeclaredRegistry): this {
    this.registries.set(name, declared);
    return this;
  }

  withoutRegistry(name: string): this {
    this.registries.delete(name);
    return this;
  }

  /** Changes the auth options. */
  auth(options: AuthOptions): this {
    this.authOptions = { ...this.authOptions, ...options };
    return this;
  }

  /** Adds members to the configuration, such as `cors`. */
  configuration(extra: Document): this {
    this.extra = { ...this.extra, ...extra };
    return this;
  }

  /** Sets the listen address; default: a free port of 127.0.0.1. */
  listensOn(address: string): this {
    this.address = address;
    return this;
  }

  /** A second service with the current declarations on the same database; the test starts and stops it. */
  replica(): ServiceUnderTest {
    return Object.assign(new ServiceUnderTest(), this, {
      log: [],
      running: undefined,
      lastSearched: undefined,
    });
  }

  runs(): this {
    beforeAll(async () => {
      this.database = await aDatabase();
      this.folder = await mkdtemp(join(tmpdir(), 'registry-service-'));
      await this.issuer.start();
      await this.start();
    });
    afterAll(async () => {
      await this.stop();
      await this.issuer.stop();
      await this.database.drop();
      await rm(this.folder, { recursive: true, force: true });
    });
    return this;
  }

  async start(): Promise<void> {
    const config = await this.declared();
    const sink = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.log.push(chunk.toString());
        done();
      },
    });
    const version = { ...versionReport({ commit: 'test', date: 'test' }), platform: 'test' };
    this.running = await startService(config, version, createLogger('debug', sink));
    if (this.log.join('').includes('have not finished their first sync')) await this.firstSyncs();
  }

  /** Waits longer than the program does at startup, which is not enough on a busy machine, but no longer than a source may hang. */
  private async firstSyncs(): Promise<void> {
    for (const began = performance.now(); performance.now() - began < FIRST_SYNCS_MS;) {
      const [row] = await this.database.query<{ count: number }>(
        `select count(*)::int as count from source_sync y join source s on s.id = y.source_id
         where s.kind <> 'managed' and y.last_success_at is null and y.status in ('pending', 'syncing')`,
      );
      if (row?.count === 0) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Applies the current declarations, as at SIGHUP. */
  async reload(edit: (service: this) => void = () => undefined): Promise<Reloaded> {
    edit(this);
    if (!this.running) throw new Error('The service is not running');
    return this.running.reload(await this.declared());
  }

  private async declared(): Promise<Config> {
    for (const [name, declared] of this.sources)
      if (declared.missing) await rm(this.fileOf(name), { force: true });
      else if (isFile(declared)) await this.writeFile(name, declared);
    const file = this.configurationFile;
    // Replicas share this file: nothing may run between writing and reading it.
    writeFileSync(file, this.yaml());
    const flags = { address: this.address, internalAddress: '127.0.0.1:0' };
    return loadConfig(file, this.environment, flags).config;
  }

  async stop(noticeMs = 0): Promise<void> {
    if (!this.running) return;
    const { text: metrics } = await call(`${this.internalOrigin}/metrics`);
    await this.running.stop(noticeMs);
    this.running = undefined;
    await this.expectNoLeaks(metrics);
  }

  /** Stops, changes the declarations, and starts again on the same database. */
  async restart(edit: (service: this) => void = () => undefined): Promise<void> {
    await this.stop();
    edit(this);
    await this.start();
  }

  /** A caller whose token has these claims and the issuer's usual ones. */
  as(claims: Record<string, unknown>): Sender {
    const key = JSON.stringify(claims);
    const token = this.tokens.get(key) ?? this.issuer.sign(claims);
    this.tokens.set(key, token);
    return this.bearing(token);
  }

  /** A caller with this token. */
  bearing(token: string): Sender {
    return new Bearer(this, token);
  }

  /** The log so far, one entry per line. */
  logs(): LogLine[] {
    return this.log.map((line) => JSON.parse(line) as LogLine);
  }

  /** Writes a file that the configuration can name. */
  write(name: string, content: string): string {
    const file = join(this.folder, name);
    writeFileSync(file, content);
    return file;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.running?.publicPort}`;
  }

  get internalOrigin(): string {
    return `http://127.0.0.1:${this.running?.internalPort}`;
  }

  get port(): number {
    return this.running?.publicPort ?? 0;
  }

  send(method: string, path: string, sent: Sent = {}): Promise<Reply> {
    return callWith(this.origin + path, method, sent);
  }

  /** Replaces a source's file atomically. */
  async rewrite(name: string, declared: DeclaredSource): Promise<void> {
    this.sources.set(name, { ...this.sources.get(name), ...declared });
    await this.writeFile(name, declared);
  }

  /** Runs the source now, as if its interval were over; resolves when the run has ended with any status. */
  async synced(name: string): Promise<SourceReport> {
    let before: { at: Date } | undefined;
    for (;;) {
      // The end of a run in progress would reschedule the next one.
      if (!before) {
        [before] = await this.database.query<{ at: Date }>(
          `update source_sync y set next_run_at = now() from source s
           where s.id = y.source_id and s.name = $1 and (y.lease_owner is null or y.lease_until < now())
           returning clock_timestamp() as at`,
          [name],
        );
        pollNow();
      }
      const [row] = await this.database.query<SourceReport & { done: boolean }>(
        `select y.status, y.error, y.attempts, y.format, y.counts, y.skipped,
           y.last_attempt_at >= date_trunc('milliseconds', $2::timestamptz) and y.lease_owner is null as done
         from source_sync y join source s on s.id = y.source_id where s.name = $1`,
        [name, before?.at],
      );
      if (row?.done) return row;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  /** The configuration that the service was started with, for a started program. */
  get configurationFile(): string {
    return join(this.folder, 'registry.yaml');
  }

  fileOf(name: string): string {
    return join(this.folder, `${name}.json`);
  }

  private async writeFile(name: string, { servers, skills, plugins, text }: DeclaredSource): Promise<void> {
    const temporary = join(this.folder, randomUUID());
    await writeFile(temporary, text ?? JSON.stringify(aCatalogue(servers ?? [], skills ?? [], plugins)));
    await rename(temporary, this.fileOf(name));
  }

  // reference/authentication: tokens and secrets never reach a log or the database.
  private async expectNoLeaks(metrics: string): Promise<void> {
    const tables = await this.database.query<{ name: string }>(
      `select quote_ident(tablename) as name from pg_tables where schemaname = 'public'`,
    );
    const rows = await this.database.query<{ row: string }>(
      tables.map(({ name }) => `select t::text as row from ${name} t`).join(' union all '),
    );
    const found = {
      inLog: findSecrets(this.log.join('')),
      inDatabase: findSecrets(rows.map(({ row }) => row).join('\n')),
      inMetrics: findSecrets(metrics),
    };
    expect(found, 'tokens and secrets written by the service').toEqual({
      inLog: [],
      inDatabase: [],
      inMetrics: [],
    });
  }

  private yaml(): string {
    return stringify({
      auth: authSection(this.authOptions, this),
      sources: [...this.sources].map(([name, declared]) => ({
        name,
        ...(isFile(declared)
          ? {
              file: declared.settings?.['url']
                ? declared.settings
                : { path: this.fileOf(name), ...declared.settings },
            }
          : { [String(declared.kind)]: declared.settings ?? {} }),
        ...(isSynced(declared) ? { syncPolicy: { interval: declared.interval ?? '1h' } } : {}),
        ...(declared.filter ? { filter: declared.filter } : {}),
        ...(declared.admission ? { admission: declared.admission } : {}),
        ...(declared.claims ? { claims: declared.claims } : {}),
      })),
      registries: [...this.registries].map(([name, declared]) => ({ name, ...declared })),
      database: this.database.connection,
      ...this.extra,
      // Tests change more in a minute than people do.
      limits: { changesPerMinute: 1_000_000, ...(this.extra['limits'] as object | undefined) },
    });
  }
}

class Bearer extends Sender {
  constructor(
    private readonly service: ServiceUnderTest,
    private readonly token: string,
  ) {
    super();
  }

  send(method: string, path: string, { headers, ...sent }: Sent = {}): Promise<Reply> {
    return this.service.send(method, path, {
      ...sent,
      headers: { Authorization: `Bearer ${this.token}`, ...headers },
    });
  }
}

function isFile({ kind = 'file' }: DeclaredSource): boolean {
  return kind === 'file';
}

function isSynced({ kind = 'file' }: DeclaredSource): boolean {
  return kind !== 'managed' && kind !== 'kubernetes';
}
