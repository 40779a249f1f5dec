import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { stringify } from 'yaml';
import { type Certificates, makeCertificates } from './certificates.js';
import type { Document } from './documents.js';
import { type Change, type ClusterObject, status, tell, type Watcher, write } from './kubernetes-watchers.js';
import { keepSecret } from './secrets.js';

const GROUP = 'toolhive.stacklok.dev';
const PATH = new RegExp(
  `^/apis/${GROUP}/(?<version>[^/]+)(?:/namespaces/(?<namespace>[^/]+))?/(?<plural>[^/]+)$`,
);
export const PLURALS = {
  MCPServer: 'mcpservers',
  VirtualMCPServer: 'virtualmcpservers',
  MCPRemoteProxy: 'mcpremoteproxies',
};
export type Kind = keyof typeof PLURALS;

export interface ApiRequest {
  readonly verb: 'list' | 'watch';
  readonly version: string;
  readonly plural: string;
  readonly namespace: string | null;
  readonly query: Record<string, string>;
  readonly status: number;
}

/** Describes an API server of a cluster; `runs()` starts it before the tests of the file and stops it after them. */
export function aCluster(): KubernetesApi {
  return new KubernetesApi();
}

/**
 * The part of the API server that clients of custom resources see: lists in pages and watches, over TLS and for bearers of
 * its token, with resource versions, a history that can be compacted, bookmarks, and connections that break.
 */
export class KubernetesApi {
  readonly requests: ApiRequest[] = [];
  readonly certificates: Certificates = makeCertificates();
  /** The file that tells clients of it. */
  readonly kubeconfig = join(mkdtempSync(join(tmpdir(), 'registry-cluster-')), 'kubeconfig');
  /** What it asks for. */
  token = keepSecret(`token-${randomUUID()}`);
  /** The served versions of each kind; none: its definition is not installed. */
  readonly served: Record<string, string[]> = {};
  /** `verb plural`, or `verb plural namespace`, which the account may not. */
  readonly forbidden = new Set<string>();
  /** How the end of the history is told: as the HTTP status, or as an event of the watch. */
  goneAs: 'status' | 'event' = 'event';
  /** Lists that go on after so many pages find that their place is gone. */
  expiresAfterPages = Infinity;
  private readonly objects = new Map<string, Map<string, ClusterObject>>();
  private readonly watchers = new Set<Watcher>();
  private readonly server: Server;
  /** What began lists saw, by revision. */
  private readonly snapshots = new Map<string, ClusterObject[]>();
  private history: Change[] = [];
  private revision = 1000;
  private compactedAt = 0;

  constructor() {
    for (const plural of Object.values(PLURALS)) {
      this.served[plural] = ['v1beta1', 'v1alpha1'];
      this.objects.set(plural, new Map());
    }
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
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    this.writeKubeconfig();
  }

  async stop(): Promise<void> {
    if (!this.server.listening) return;
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }

  get port(): number {
    return (this.server.address() as AddressInfo | null)?.port ?? 0;
  }

  /** Writes the kubeconfig anew; what is wrong with it can be said. */
  writeKubeconfig({ ca = this.certificates.ca, token = this.token, port = this.port } = {}): void {
    const data = Buffer.from(ca).toString('base64');
    const server = `https://127.0.0.1:${port}`;
    const text = stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': data } }],
      users: [{ name: 'registry', user: { token } }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'registry' } }],
      'current-context': 'test',
    });
    writeFileSync(this.kubeconfig, text);
  }

  /** Creates the object, or replaces it. The annotations are named without their prefix. */
  put(kind: Kind, place: string, annotations: Record<string, string>, spec: Document = {}): void {
    const [namespace = '', name = ''] = place.split('/');
    const before = this.of(PLURALS[kind]).get(place);
    const prefixed = Object.entries(annotations).map(([key, value]) => [`${GROUP}/${key}`, value]);
    // As in a list of a real one, whose objects do not say their kind.
    const object: ClusterObject = {
      metadata: {
        namespace,
        name,
        uid: before?.metadata.uid ?? randomUUID(),
        resourceVersion: String(++this.revision),
        annotations: Object.fromEntries(prefixed) as Record<string, string>,
      },
      spec,
    };
    this.of(PLURALS[kind]).set(place, object);
    this.happened({ at: this.revision, plural: PLURALS[kind], type: before ? 'MODIFIED' : 'ADDED', object });
  }

  delete(kind: Kind, place: string): void {
    const object = this.of(PLURALS[kind]).get(place);
    if (!object) throw new Error(`There is no ${kind} ${place}`);
    this.of(PLURALS[kind]).delete(place);
    const resourceVersion = String(++this.revision);
    const last = { ...object, metadata: { ...object.metadata, resourceVersion } };
    this.happened({ at: this.revision, plural: PLURALS[kind], type: 'DELETED', object: last });
  }

  /** Forgets the history so far: whoever wants to go on from an earlier revision than this one has to list anew. */
  compact(): void {
    this.history = [];
    this.compactedAt = this.revision;
  }

  /** Tells watchers the newest resource version, though nothing of theirs changed. */
  bookmark(): void {
    for (const watcher of this.watchers) {
      const object = { kind: 'x', metadata: { resourceVersion: String(this.revision) } };
      if (watcher.bookmarks) write(watcher, { type: 'BOOKMARK', object });
    }
  }

  /** Moves the resource version, as changes of other resources do. */
  pass(revisions: number): void {
    this.revision += revisions;
  }

  /** Breaks every watch, if need be in the middle of a line that tells of an object that is not there. */
  breakWatches({ midLine = false } = {}): void {
    for (const { response } of this.watchers)
      if (midLine)
        response.write('{"type":"DELETED","object":{"metadata":{"resourceVersion":"999999999","na', () =>
          response.destroy(),
        );
      else response.destroy();
    this.watchers.clear();
  }

  /** Asks for another token from now on. */
  rotateToken(): void {
    this.token = keepSecret(`token-${randomUUID()}`);
  }

  get watching(): number {
    return this.watchers.size;
  }

  private of(plural: string): Map<string, ClusterObject> {
    const objects = this.objects.get(plural);
    if (!objects) throw new Error(`No resource ${plural}`);
    return objects;
  }

  private happened(change: Change): void {
    this.history.push(change);
    for (const watcher of this.watchers) tell(watcher, change);
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '', 'https://x');
    const { version = '', namespace = null, plural = '' } = PATH.exec(url.pathname)?.groups ?? {};
    const query = Object.fromEntries(url.searchParams);
    const verb = query['watch'] === 'true' ? 'watch' : 'list';
    const place = namespace === null ? '' : ` ${namespace}`;
    const isForbidden =
      this.forbidden.has(`${verb} ${plural}`) || this.forbidden.has(`${verb} ${plural}${place}`);
    const refuse = (code: number, message: string) => {
      this.requests.push({ verb, version, plural, namespace, query, status: code });
      response
        .writeHead(code, { 'Content-Type': 'application/json' })
        .end(JSON.stringify(status(code, message)));
    };
    if (request.headers.authorization !== `Bearer ${this.token}`) return refuse(401, 'Unauthorized');
    if (isForbidden)
      return refuse(
        403,
        `${plural}.${GROUP} is forbidden: User "system:serviceaccount:tools:registry" cannot ${verb} resource "${plural}"`,
      );
    if (!this.served[plural]?.includes(version))
      return refuse(404, 'the server could not find the requested resource');
    if (verb === 'watch') {
      const from = Number(query['resourceVersion']);
      if (from < this.compactedAt && this.goneAs === 'status')
        return refuse(410, `too old resource version: ${from} (${this.compactedAt})`);
      this.requests.push({ verb, version, plural, namespace, query, status: 200 });
      return this.watch(
        { plural, namespace, version, bookmarks: query['allowWatchBookmarks'] === 'true', response },
        from,
      );
    }
    const [at = this.revision, start = 0] = query['continue']?.split('.').map(Number) ?? [];
    const limit = Number(query['limit'] ?? Infinity);
    if (at < this.compactedAt || start >= limit * this.expiresAfterPages)
      return refuse(410, 'The provided continue parameter is too old');
    this.requests.push({ verb, version, plural, namespace, query, status: 200 });
    this.list(response, { plural, namespace, version }, { at, start, limit });
  }

  // The pages of one list are of one revision.
  private list(
    response: ServerResponse,
    { plural, namespace, version }: Pick<Watcher, 'plural' | 'namespace' | 'version'>,
    { at, start, limit }: { at: number; start: number; limit: number },
  ): void {
    const key = `${plural} ${namespace} ${at}`;
    const all = (start > 0 && this.snapshots.get(key)) || [...this.of(plural).values()];
    const now = all.filter((object) => namespace === null || object.metadata.namespace === namespace);
    this.snapshots.set(key, now);
    const items = now.slice(start, start + limit);
    const remaining = now.length - start - items.length;
    const metadata = {
      resourceVersion: String(at),
      ...(remaining > 0 ? { continue: `${at}.${start + items.length}`, remainingItemCount: remaining } : {}),
    };
    response
      .writeHead(200, { 'Content-Type': 'application/json' })
      .end(JSON.stringify({ apiVersion: `${GROUP}/${version}`, kind: 'List', metadata, items }));
  }

  private watch(watcher: Watcher, from: number): void {
    const { response } = watcher;
    response.writeHead(200, { 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' });
    response.flushHeaders();
    if (from < this.compactedAt) {
      const message = `too old resource version: ${from} (${this.compactedAt})`;
      write(watcher, { type: 'ERROR', object: status(410, message) });
      response.end();
      return;
    }
    for (const change of this.history) if (change.at > from) tell(watcher, change);
    this.watchers.add(watcher);
    response.once('close', () => this.watchers.delete(watcher));
  }
}
