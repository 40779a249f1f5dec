import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { aDated, keyOf, type Listing, listingOf, Shelf } from './day-content.js';
import { aCatalogue, type Document } from './documents.js';
import type { Folder } from './folder.js';
import type { GitRepository } from './git-repository.js';
import type { GitServer } from './git-server.js';
import type { InjectedFault } from './fault-injection.js';
import { listensMeanwhile, urlOf } from './loopback.js';
import type { Random } from './random.js';
import type { UpstreamRegistry } from './upstream-registry.js';

/** One source of the day, as its upstream. */
export interface DayUpstream {
  readonly name: string;
  /** The source's configuration, except its name. */
  readonly declared: () => Document;
  /** Its current content. */
  readonly listing: Listing;
  /** The generations of its content, if every run shows exactly one of them. */
  readonly shelf?: Shelf;
  change(): void | Promise<void>;
  /** Makes reads fail, always or sometimes. */
  fail(): void | Promise<void>;
  recover(): void | Promise<void>;
}

const EVERY_SECOND = { syncPolicy: { interval: '1s' } };
const NOT_CATALOGUES = [
  '',
  '{"version": "1.0.0", "data": {"servers": [{"na',
  '<h1>Please sign in</h1>',
  '[]',
  '{}',
  JSON.stringify(aCatalogue([])),
  JSON.stringify(aCatalogue([{ name: 'not valid' }])),
];

/** A file that is replaced atomically, and may be missing or invalid. */
export class DayFile implements DayUpstream {
  readonly shelf: Shelf;
  private failing = false;

  constructor(
    readonly name: string,
    private readonly folder: Folder,
    private readonly random: Random,
  ) {
    this.shelf = new Shelf(name, random);
    this.put(this.shelf.text);
  }

  readonly declared = () => ({ file: { path: this.path }, ...EVERY_SECOND });

  get listing(): Listing {
    return this.shelf.listing;
  }

  change(): void {
    this.shelf.turn();
    if (!this.failing) this.put(this.shelf.text);
  }

  fail(): void {
    this.failing = true;
    if (this.random.chance(0.3)) rmSync(this.path, { force: true });
    else this.put(this.random.pick(NOT_CATALOGUES));
  }

  recover(): void {
    this.failing = false;
    this.put(this.shelf.text);
  }

  private get path(): string {
    return this.folder.file(`${this.name}.json`);
  }

  private put(text: string): void {
    writeFileSync(`${this.path}.new`, text);
    renameSync(`${this.path}.new`, this.path);
  }
}

type UrlFault = 'status' | 'down' | 'cut' | 'text' | 'hang';
const VALIDATORS = ['etag', 'last-modified', 'none'] as const;

/** A file behind a URL, with or without validators. */
export class DayUrl implements DayUpstream {
  readonly shelf: Shelf;
  private fault: UrlFault | undefined;
  private status = 0;
  private wrongText = '';
  private readonly hanging = new Set<ServerResponse>();
  private readonly validator: (typeof VALIDATORS)[number];

  constructor(
    readonly name: string,
    private readonly site: DaySite,
    private readonly random: Random,
  ) {
    this.shelf = new Shelf(name, random);
    this.validator = random.pick(VALIDATORS);
    site.pages.set(`/${name}`, (request, response) => this.answer(request, response));
  }

  readonly declared = () => ({ file: { url: `${this.site.origin}/${this.name}` }, ...EVERY_SECOND });

  get listing(): Listing {
    return this.shelf.listing;
  }

  change(): void {
    this.shelf.turn();
  }

  fail(): void {
    // A hanging read occupies a slot of the replica for a minute, so it is rare.
    this.fault = this.random.chance(0.05) ? 'hang' : this.random.pick(['status', 'down', 'cut', 'text']);
    this.status = this.random.pick([401, 404, 410, 429, 500, 503]);
    this.wrongText = this.random.pick(NOT_CATALOGUES);
  }

  recover(): void {
    this.fault = undefined;
    for (const response of this.hanging) response.destroy();
    this.hanging.clear();
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const { text, generation } = this.shelf;
    const etag = `"${generation}"`;
    // The generation serves as the clock, so that two changes within a second get different times.
    const modified = new Date(Date.UTC(2026, 0, 1) + generation * 1_000).toUTCString();
    switch (this.fault) {
      case 'status':
        return void response.writeHead(this.status).end('{}');
      case 'down':
        return void response.destroy();
      case 'cut':
        response.writeHead(200, { 'Content-Length': text.length, ETag: etag });
        return void response.write(text.slice(0, text.length / 2), () => response.destroy());
      case 'text':
        return void response.writeHead(200, { ETag: '"no catalogue"' }).end(this.wrongText);
      case 'hang':
        response.writeHead(200, { ETag: etag }).write(text.slice(0, text.length / 2));
        return void this.hanging.add(response);
      case undefined:
        break;
    }
    const { 'if-none-match': ifTag, 'if-modified-since': ifTime } = request.headers;
    if (ifTag === etag || (this.validator === 'last-modified' && ifTime === modified))
      return void response.writeHead(304).end();
    const headers = { none: {}, etag: { ETag: etag }, 'last-modified': { 'Last-Modified': modified } };
    response.writeHead(200, headers[this.validator]).end(text);
  }
}

/** The web server for all files behind URLs. */
export class DaySite {
  readonly pages = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>();
  private readonly server = createServer((request, response) => {
    const page = this.pages.get(request.url ?? '');
    if (page) page(request, response);
    else response.writeHead(404).end();
  });

  runs(): this {
    listensMeanwhile(this.server);
    return this;
  }

  get origin(): string {
    return urlOf(this.server);
  }
}

/** A repository whose server may fail as a whole, and which might not contain a catalog. */
export class DayRepository implements DayUpstream {
  readonly shelf: Shelf;
  private repository: GitRepository;
  private failing = false;

  constructor(
    readonly name: string,
    private readonly git: GitServer,
    private readonly random: Random,
  ) {
    this.shelf = new Shelf(name, random);
    this.repository = git.repository(name);
  }

  // Each run starts processes on both sides.
  readonly declared = () => ({
    git: { repository: this.git.url(this.name), path: 'sub/registry.json' },
    syncPolicy: { interval: '4s' },
  });

  get listing(): Listing {
    return this.shelf.listing;
  }

  async change(): Promise<void> {
    this.shelf.turn();
    if (!this.failing) await this.recover();
  }

  async fail(): Promise<void> {
    this.failing = true;
    switch (this.random.between(0, 2)) {
      case 0:
        this.git.injectFault = (_request, response) => void response.writeHead(500).end();
        return;
      case 1:
        return void (await this.repository.commit({ 'other.json': '{}' }));
      case 2:
        return void (await this.repository.commit({ 'sub/registry.json': this.random.pick(NOT_CATALOGUES) }));
    }
  }

  async recover(): Promise<void> {
    this.failing = false;
    this.git.injectFault = undefined;
    await this.repository.commit({ 'sub/registry.json': this.shelf.text, 'README.md': '# Day' });
  }
}

const STATUSES = ['active', 'active', 'deprecated', 'deleted'];
const API_FAULTS: (InjectedFault | { status: number; headers?: Record<string, string>; times?: number })[] = [
  'garbage',
  'html',
  'hang',
  'down',
  { status: 404 },
  { status: 401 },
  { status: 500, headers: { 'Retry-After': '0' } },
  { status: 503, headers: { 'Retry-After': '0' } },
  { status: 429, headers: { 'Retry-After': '0' } },
  { status: 429, headers: { 'Retry-After': '0' }, times: 2 },
  { status: 429, headers: { 'Retry-After': '3600' } },
];

/** Another MCP registry with several pages, with or without updated_since. */
export class DayRegistry implements DayUpstream {
  private readonly held = new Map<string, { server: Document; status: string }>();
  private generation = 0;

  constructor(
    readonly name: string,
    private readonly upstream: UpstreamRegistry,
    private readonly random: Random,
  ) {
    upstream.habits = { perPage: 5, ...(random.chance(0.25) ? { updatedSince: 'ignored' as const } : {}) };
    for (let index = 0; index < 12; index += 1) this.put(index, '1.0.0', 'active');
  }

  readonly declared = () => ({ api: { endpoint: this.upstream.url, timeout: '1s' }, ...EVERY_SECOND });

  get listing(): Listing {
    return listingOf([...this.held.values()]);
  }

  change(): void {
    for (let count = this.random.between(1, 4); count > 0; count -= 1)
      this.put(
        this.random.between(0, 14),
        this.random.pick(['1.0.0', '1.1.0', '2.0.0']),
        this.random.pick(STATUSES),
      );
    if (this.random.chance(0.2) && this.held.size > 8) {
      const { server } = this.random.pick([...this.held.values()]);
      this.upstream.remove(String(server['name']), String(server['version']));
      this.held.delete(keyOf(server));
    }
  }

  fail(): void {
    this.upstream.fails(this.random.between(1, 3), copyOf(this.random.pick(API_FAULTS)));
  }

  recover(): void {
    this.upstream.recovers();
    this.upstream.requests.length = 0;
  }

  private put(index: number, version: string, status: string): void {
    this.generation += 1;
    const name = this.random.chance(0.1) ? `io.day/shared-${index % 6}` : `io.day/${this.name}-${index}`;
    const server = aDated(name, version, this.generation);
    this.upstream.put([server], { status });
    this.held.set(keyOf(server), { server, status });
  }
}

// A transient fault counts down in its object, so each use needs a copy.
function copyOf<T>(fault: T): T {
  return typeof fault === 'object' ? { ...fault } : fault;
}
