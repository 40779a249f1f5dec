import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { elements, member } from '../json/json-values.js';
import { FetchError } from '../outbound/fetch-error.js';
import { HttpClient, jsonIn, OutboundError, type OutboundResponse } from '../outbound/http-client.js';
import { parseHttpUrl } from '../validation/urls.js';
import { type UnpackedFiles, unpackTar, unpackTarGz } from './archive.js';
import {
  accountAt,
  checkHost,
  type FetchRules,
  isListed,
  mayBePlain,
  type OciReference,
} from './content-reference.js';

const MAX_MANIFEST_BYTES = 1024 * 1024;
const MAX_TOKEN_BYTES = 64 * 1024;
const MAX_LAYERS = 16;
/** Headers and padding can make an archive larger than its files. */
const MAX_OVERHEAD_BYTES = 1024 * 1024;
const TIMEOUT_MS = 60_000;

const DIGEST = /^sha256:[0-9a-f]{64}$/;
const INDEXES = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
];
const MANIFESTS = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];

interface Blob {
  readonly digest: string;
  readonly size: number;
  readonly isCompressed: boolean;
}

/** Reads one artifact through the OCI distribution API, with the account for its host if there is one. */
export class OciRegistry {
  private scheme: 'https' | 'http' = 'https';
  private authorization: string | undefined;

  constructor(
    private readonly http: HttpClient,
    private readonly reference: OciReference,
    private readonly rules: FetchRules,
    private readonly signal: AbortSignal,
  ) {}

  /** Returns the digest of the manifest that the tag currently points to. */
  async resolve(): Promise<string> {
    const { digest } = await this.manifest(this.reference.tag);
    return `sha256:${digest.toString('hex')}`;
  }

  /**
   * Unpacks the layers of a manifest.
   *
   * @param folder an existing folder that holds one layer at a time.
   * @throws FetchError, OutboundError; ApiError as `unpackTar`.
   */
  async unpack(digest: string, folder: string, unpacked: UnpackedFiles): Promise<void> {
    let manifest = await this.verifiedManifest(digest);
    const [first] = elements(member(manifest, 'manifests'));
    if (first !== undefined) {
      const named = member(first, 'digest');
      // The digest becomes part of a path.
      if (typeof named !== 'string' || !DIGEST.test(named))
        throw this.failure('its index has a manifest without a sha256 digest');
      manifest = await this.verifiedManifest(named);
    }
    const layers = elements(member(manifest, 'layers')).map((layer) => this.layerOf(layer));
    if (layers.length === 0 || layers.length > MAX_LAYERS)
      throw this.failure(`its manifest must have 1 to ${MAX_LAYERS} layers`);
    const file = join(folder, 'layer');
    for (const layer of layers) {
      await this.download(layer, file, unpacked.maxBytes + MAX_OVERHEAD_BYTES);
      const unpack = layer.isCompressed ? unpackTarGz : unpackTar;
      await unpack(createReadStream(file), unpacked);
    }
  }

  private layerOf(layer: unknown): Blob {
    const [digest, size] = [member(layer, 'digest'), member(layer, 'size')];
    const type = String(member(layer, 'mediaType'));
    if (typeof digest !== 'string' || !DIGEST.test(digest) || !isSize(size))
      throw this.failure('its manifest has a layer without a sha256 digest and a size');
    if (!/tar([.+]gzip)?$/.test(type)) throw this.failure('its layers must be tar or tar+gzip archives');
    return { digest, size, isCompressed: /gzip$/.test(type) };
  }

  private async verifiedManifest(digest: string): Promise<unknown> {
    const response = await this.manifest(digest);
    if (`sha256:${response.digest.toString('hex')}` !== digest)
      throw this.failure('the manifest does not match the requested digest');
    const manifest = jsonIn(response.bytes);
    if (manifest === undefined) throw this.failure('the manifest is not JSON');
    return manifest;
  }

  private manifest(name: string): Promise<OutboundResponse> {
    return this.get(`manifests/${name}`, MAX_MANIFEST_BYTES, [...MANIFESTS, ...INDEXES].join(', '));
  }

  private async download({ digest, size }: Blob, file: string, maxBytes: number): Promise<void> {
    if (size > maxBytes) throw this.failure('a layer is larger than content.maxBytesPerVersion');
    const output = await open(file, 'w');
    try {
      const save = (chunk: Buffer) => output.writeFile(chunk);
      const response = await this.get(`blobs/${digest}`, maxBytes, '*/*', save);
      if (`sha256:${response.digest.toString('hex')}` !== digest)
        throw this.failure('a layer does not match its digest in the manifest');
    } finally {
      await output.close();
    }
  }

  private async get(
    path: string,
    maxBytes: number,
    accept: string,
    save?: (chunk: Buffer) => Promise<void>,
  ): Promise<OutboundResponse> {
    let response = await this.send(path, maxBytes, accept, save);
    if (response.status === 401 && this.authorization === undefined) {
      this.authorization = await this.authorize(response);
      response = await this.send(path, maxBytes, accept, save);
    }
    if (response.status === 200) return response;
    throw this.failure(
      [401, 403, 404].includes(response.status)
        ? `it does not exist, or is not public (status ${response.status})`
        : `it responded with status ${response.status}`,
    );
  }

  private async send(
    path: string,
    maxBytes: number,
    accept: string,
    save?: (chunk: Buffer) => Promise<void>,
  ): Promise<OutboundResponse> {
    const { host, repository } = this.reference;
    const get = () =>
      this.http.get(`${this.scheme}://${host}/v2/${repository}/${path}`, {
        headers: { accept },
        ...(this.authorization === undefined ? {} : { authorization: this.authorization }),
        ...(save ? { save } : {}),
        timeoutMs: TIMEOUT_MS,
        maxBytes,
        allowPrivate: true,
        redirects: 'any-origin',
        refuseRedirect: (target) =>
          isListed(target, this.rules.fetchHosts)
            ? undefined
            : `it redirects to ${target.host}, which content.fetch.hosts does not include`,
        signal: this.signal,
      });
    try {
      return await get();
    } catch (error) {
      const isFirst = this.scheme === 'https' && error instanceof OutboundError && !error.answered;
      if (!isFirst || save || !mayBePlain(host, this.rules)) throw error;
      this.scheme = 'http';
      return get();
    }
  }

  /**
   * Returns the header for further requests: the account itself, or a pull token, for which the account is sent only to
   * a listed host. https://distribution.github.io/distribution/spec/auth/token/
   */
  private async authorize({ headers, mayNamePrivate }: OutboundResponse): Promise<string> {
    const account = accountAt(new URL(`${this.scheme}://${this.reference.host}/`), this.rules);
    const basic =
      account && `Basic ${Buffer.from(`${account.username}:${account.password}`).toString('base64')}`;
    const challenges = [headers['www-authenticate'] ?? []].flat();
    const challenge = challenges.find((text) => /^bearer /i.test(text));
    if (challenge === undefined && basic !== undefined && challenges.some((text) => /^basic\b/i.test(text)))
      return basic;
    const [, realm] = /\brealm="([^"]*)"/i.exec(challenge ?? '') ?? [];
    const [, service] = /\bservice="([^"]*)"/i.exec(challenge ?? '') ?? [];
    const url = parseHttpUrl(realm);
    if (!url) throw this.failure('it asks for credentials other than a token');
    checkHost(url, this.rules);
    if (service !== undefined) url.searchParams.set('service', service);
    url.searchParams.set('scope', `repository:${this.reference.repository}:pull`);
    const answer = await this.http.getJson(url.href, {
      ...(basic === undefined ? {} : { authorization: basic }),
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_TOKEN_BYTES,
      allowPrivate: mayNamePrivate,
      redirects: 'same-origin',
      signal: this.signal,
    });
    const token = member(answer, 'token') ?? member(answer, 'access_token');
    if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
      throw this.failure(`it issued no token for ${basic === undefined ? 'an anonymous' : 'a'} pull`);
    return `Bearer ${token}`;
  }

  private failure(reason: string): FetchError {
    const { host, repository } = this.reference;
    return new FetchError(`${host}/${repository}: ${reason}`);
  }
}

function isSize(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
