import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type Certificates, makeCertificates } from './certificates.js';
import type { Document } from './documents.js';
import { aKubeconfig } from './kubeconfig.js';
import { type Backup, GROUP, type Kind, KubernetesStorage, PLURALS } from './kubernetes-storage.js';
import { bookmark, metadataOf, status, sendChange, type Watcher, write } from './kubernetes-watchers.js';
import { close, listen, portOf } from './loopback.js';
import { keepSecret } from './secrets.js';

const PATH = new RegExp(
  `^/apis/${GROUP}/(?<version>[^/]+)(?:/namespaces/(?<namespace>[^/]+))?/(?<plural>[^/]+)$`,
);

export interface ApiRequest {
  readonly verb: 'list' | 'watch';
  readonly version: string;
  readonly plural: string;
  readonly namespace: string | null;
  readonly query: Record<string, string>;
  readonly accept: string;
  readonly status: number;
}

type Asked = Omit<ApiRequest, 'status'>;

/**
 * Describes a cluster's API server; `runs()` starts it before the tests of the file and stops it after them.
 */
export function aCluster(): KubernetesApi {
  return new KubernetesApi();
}

/**
 * The API server as a client of custom resources sees it: paged lists and watches over TLS with a bearer
 * token, resource versions, a history that can be compacted, bookmarks, and connections that break.
 */
export class KubernetesApi {
  readonly requests: ApiRequest[] = [];
  readonly certificates: Certificates = makeCertificates();
  /** The kubeconfig for clients. */
  readonly kubeconfig = join(mkdtempSync(join(tmpdir(), 'registry-cluster-')), 'kubeconfig');
  /** The required bearer token. */
  token = keepSecret(`token-${randomUUID()}`);
  /** The served versions of each kind; empty: the CRD is not installed. */
  readonly served: Record<string, string[]> = {};
  /** Denied permissions: `verb plural`, or `verb plural namespace`. */
  readonly forbidden = new Set<string>();
  /** How an expired history is reported: as an HTTP status or as a watch event. */
  goneAs: 'status' | 'event' = 'event';
  /** Continue tokens expire after this many pages. */
  expiresAfterPages = Infinity;
  /** Until this time the storage is initializing, as after a start: 429 with Retry-After. */
  initializingUntil = 0;
  private readonly watchers = new Set<Watcher>();
  private readonly storage = new KubernetesStorage((change) => {
    for (const watcher of this.watchers) sendChange(watcher, change);
  });
  private readonly server: Server;

  constructor() {
    for (const plural of Object.values(PLURALS)) this.served[plural] = ['v1beta1', 'v1alpha1'];
    const { cert, key } = this.certificates;
    this.server = createServer({ cert, key }, (request, response) => this.answer(request, response));
  }

  runs(): this {
    beforeAll(() => this.start());
    afterAll(async () => {
      await this.stop();
      rmSync(dirname(this.kubeconfig), { recursive: true, force: true });
    });
    return this;
  }

  async start(port = 0): Promise<void> {
    await listen(this.server, port);
    this.writeKubeconfig();
  }

  async stop(): Promise<void> {
    await close(this.server);
  }

  get port(): number {
    return portOf(this.server);
  }

  /** Rewrites the kubeconfig, optionally with wrong values. */
  writeKubeconfig({ ca = this.certificates.ca, token = this.token, port = this.port } = {}): void {
    const server = `https://127.0.0.1:${port}`;
    writeFileSync(this.kubeconfig, aKubeconfig({ cluster: { server, ca }, user: { token } }));
  }

  /** Creates or replaces the object. Annotations are given without their prefix. */
  put(kind: Kind, place: string, annotations: Record<string, string>, spec: Document = {}): void {
    this.storage.put(kind, place, annotations, spec);
  }

  delete(kind: Kind, place: string): void {
    this.storage.delete(kind, place);
  }

  /** Compacts the history: watches from an earlier revision must list again. */
  compact(): void {
    this.storage.compact();
  }

  /** Sends a bookmark with the newest resource version to all watchers. */
  bookmark(): void {
    for (const watcher of this.watchers) bookmark(watcher, this.storage.revision);
  }

  /** Ends every watch, as its timeout would. */
  endWatches(): void {
    for (const watcher of this.watchers) this.end(watcher);
  }

  /** Changes objects without causing a watch event, now or later. */
  unnoticed(edit: () => void): void {
    this.storage.unnoticed(edit);
  }

  backUp(): Backup {
    return this.storage.backUp();
  }

  /** Restores the storage as `etcdctl snapshot restore` does: revisions repeat. */
  restore(backup: Backup): void {
    this.storage.restore(backup);
  }

  /** Advances the resource version, as changes to other resources do. */
  pass(revisions: number): void {
    this.storage.revision += revisions;
  }

  /** Breaks every watch, optionally in the middle of an event for a nonexistent object. */
  breakWatches({ midLine = false } = {}): void {
    for (const { response } of this.watchers)
      if (midLine)
        response.write('{"type":"DELETED","object":{"metadata":{"resourceVersion":"999999999","na', () =>
          response.destroy(),
        );
      else response.destroy();
    this.watchers.clear();
  }

  /** Replaces the required token. */
  rotateToken(): void {
    this.token = keepSecret(`token-${randomUUID()}`);
  }

  /** Number of list pages requested, not counting single-object lists for the newest revision. */
  get pagesAsked(): number {
    return this.requests.filter(({ verb, query }) => verb === 'list' && query['limit'] !== '1').length;
  }

  get watching(): number {
    return this.watchers.size;
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '', 'https://x');
    const { version = '', namespace = null, plural = '' } = PATH.exec(url.pathname)?.groups ?? {};
    const query = Object.fromEntries(url.searchParams);
    const verb = query['watch'] === 'true' ? 'watch' : 'list';
    const place = namespace === null ? '' : ` ${namespace}`;
    const isForbidden =
      this.forbidden.has(`${verb} ${plural}`) || this.forbidden.has(`${verb} ${plural}${place}`);
    const asked: Asked = { verb, version, plural, namespace, query, accept: request.headers.accept ?? '' };
    const refuse = (code: number, message: string, retryAfterSeconds?: number) => {
      this.requests.push({ ...asked, status: code });
      const retryAfter = retryAfterSeconds === undefined ? {} : { 'Retry-After': String(retryAfterSeconds) };
      response
        .writeHead(code, { 'Content-Type': 'application/json', ...retryAfter })
        .end(JSON.stringify(status(code, message, retryAfterSeconds)));
    };
    if (request.headers.authorization !== `Bearer ${this.token}`) return refuse(401, 'Unauthorized');
    if (isForbidden)
      return refuse(
        403,
        `${plural}.${GROUP} is forbidden: User "system:serviceaccount:tools:registry" cannot ${verb} resource "${plural}" ` +
          `in API group "${GROUP}" ${namespace === null ? 'at the cluster scope' : `in the namespace "${namespace}"`}`,
      );
    if (!this.served[plural]?.includes(version))
      return refuse(404, 'the server could not find the requested resource');
    if (Date.now() < this.initializingUntil) return refuse(429, 'storage is (re)initializing', 1);
    if (verb === 'watch') {
      const from = Number(query['resourceVersion']);
      if (from < this.storage.compactedAt && this.goneAs === 'status')
        return refuse(410, `too old resource version: ${from} (${this.storage.compactedAt})`);
      this.requests.push({ ...asked, status: 200 });
      const bookmarks = query['allowWatchBookmarks'] === 'true';
      const metadataOnly = asked.accept.includes('as=PartialObjectMetadata;');
      const watcher = { plural, namespace, version, bookmarks, metadataOnly, from, response };
      return this.watch(watcher, Number(query['timeoutSeconds'] ?? 1_800));
    }
    const [at = this.storage.revision, start = 0] = query['continue']?.split('.').map(Number) ?? [];
    const limit = Number(query['limit'] ?? Infinity);
    if (at < this.storage.compactedAt || start >= limit * this.expiresAfterPages)
      return refuse(410, 'The provided continue parameter is too old');
    this.requests.push({ ...asked, status: 200 });
    const { items, remaining } = this.storage.page(plural, namespace, { at, start, limit });
    const metadata = {
      resourceVersion: String(at),
      ...(remaining > 0 ? { continue: `${at}.${start + items.length}`, remainingItemCount: remaining } : {}),
    };
    const shown = asked.accept.includes('as=PartialObjectMetadataList;') ? items.map(metadataOf) : items;
    response
      .writeHead(200, { 'Content-Type': 'application/json' })
      .end(JSON.stringify({ apiVersion: `${GROUP}/${version}`, kind: 'List', metadata, items: shown }));
  }

  private watch(watcher: Watcher, seconds: number): void {
    const { response, from } = watcher;
    response.writeHead(200, { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' });
    response.flushHeaders();
    if (from < this.storage.compactedAt) {
      const message = `too old resource version: ${from} (${this.storage.compactedAt})`;
      write(watcher, { type: 'ERROR', object: status(410, message) });
      response.end();
      return;
    }
    for (const change of this.storage.history) if (change.at > from) sendChange(watcher, change);
    this.watchers.add(watcher);
    const timer = setTimeout(() => this.end(watcher), seconds * 1_000);
    response.once('close', () => {
      clearTimeout(timer);
      this.watchers.delete(watcher);
    });
  }

  private end(watcher: Watcher): void {
    bookmark(watcher, this.storage.revision);
    watcher.response.end();
    this.watchers.delete(watcher);
  }
}
