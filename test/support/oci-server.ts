import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { listensMeanwhile, portOf, urlOf } from './loopback.js';

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const TAR = 'application/vnd.oci.image.layer.v1.tar';

export interface Layer {
  readonly bytes: Buffer;
  readonly mediaType?: string;
  /** The values in the manifest, if they differ from the truth. */
  readonly digest?: string;
  readonly size?: number;
}

/** An OCI registry with one repository, `acme/skills`, on 127.0.0.1 without TLS. */
export class OciServer {
  /** `GET /v2/…` in order. */
  readonly requests: string[] = [];
  /** The realm of the token that pulls require; if absent, none is required. */
  realm: (() => string) | undefined;
  /** The only account that may pull; if absent, anybody may. */
  account: { readonly username: string; readonly password: string } | undefined;
  /** The target to which requests for blobs are redirected; if absent, they are not redirected. */
  blobsAt: string | undefined;
  private readonly blobs = new Map<string, Buffer>();
  private readonly manifests = new Map<string, Buffer>();
  private readonly server = createServer((request, response) => this.answer(request, response));

  runs(): this {
    listensMeanwhile(this.server);
    return this;
  }

  get host(): string {
    return `127.0.0.1:${portOf(this.server)}`;
  }

  get url(): string {
    return urlOf(this.server);
  }

  /** Stores an artifact under a tag, and returns the digest of its manifest. */
  push(tag: string, ...layers: Layer[]): string {
    return this.tag(tag, {
      schemaVersion: 2,
      mediaType: MANIFEST,
      layers: layers.map(({ bytes, mediaType = TAR, digest = digestOf(bytes), size = bytes.length }) => {
        this.blobs.set(digest, bytes);
        return { mediaType, digest, size };
      }),
    });
  }

  /** Stores a manifest under a tag, and returns its digest. */
  tag(tag: string, manifest: object): string {
    const bytes = Buffer.from(JSON.stringify(manifest));
    const digest = digestOf(bytes);
    this.manifests.set(tag, bytes);
    this.manifests.set(digest, bytes);
    return digest;
  }

  private basic(): string {
    const { username, password } = this.account ?? {};
    return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
  }

  takeRequests(): string[] {
    return this.requests.splice(0);
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://oci');
    this.requests.push(`${request.method} ${pathname}`);
    const isAccount = request.headers.authorization === this.basic();
    if (pathname === '/token' && !isAccount && this.account) return void response.writeHead(401).end();
    if (pathname === '/token')
      return void response.end(JSON.stringify({ token: `token-for-${searchParams.get('scope')}` }));
    const realm = this.realm?.();
    if (this.account && realm === undefined && !isAccount)
      return void response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="acme"' }).end();
    if (
      realm !== undefined &&
      request.headers.authorization !== 'Bearer token-for-repository:acme/skills:pull'
    )
      return void response
        .writeHead(401, { 'WWW-Authenticate': `Bearer realm="${realm}",service="acme",scope="x"` })
        .end();
    const [, kind, name = ''] = /^\/v2\/acme\/skills\/(manifests|blobs)\/(.+)$/.exec(pathname) ?? [];
    if (kind === 'blobs' && this.blobsAt !== undefined)
      return void response.writeHead(307, { Location: `${this.blobsAt}${pathname}` }).end();
    const found = (kind === 'manifests' ? this.manifests : this.blobs).get(name);
    response.writeHead(found ? 200 : 404, { 'Content-Type': MANIFEST }).end(found);
  }
}

function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}
