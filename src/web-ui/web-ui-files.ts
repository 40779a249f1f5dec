import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { OAuthConfig } from '../config/config.js';
import type { Coding } from '../http/json-answers.js';
import { remembered } from '../limits/shared-reads.js';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const compress: Readonly<Record<Coding, (bytes: Buffer) => Promise<Buffer>>> = {
  br: (bytes) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes) => promisify(gzip)(bytes, { level: 9 }),
};

/** A built file of the web UI. */
export class PageFile {
  readonly etag: string;
  private readonly compressed = new Map<Coding, Promise<Buffer>>();

  constructor(
    readonly type: string,
    readonly bytes: Buffer,
  ) {
    this.etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  }

  /** Returns the file in this coding, compressed on the first request and then cached. */
  in(coding: Coding): Promise<Buffer> {
    return remembered(this.compressed, coding, () => compress[coding](this.bytes));
  }
}

export const PAGE_FILES = Symbol('web UI files');
export type PageFiles = ReadonlyMap<string, PageFile>;

/** The build output, next to the built server. */
const FOLDER = resolve(import.meta.dirname, '../web');

/** Reads the web UI's files by path. They are few and small, and never change while the server runs. */
export function builtPage(): PageFiles {
  const names = readdirSync(FOLDER, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(FOLDER.length + 1));
  return new Map(
    names.map((name) => [
      name.replaceAll('\\', '/'),
      new PageFile(typeOf(name), readFileSync(join(FOLDER, name))),
    ]),
  );
}

function typeOf(name: string): string {
  return TYPES[extname(name)] ?? 'application/octet-stream';
}

/** `Cache-Control` for the files. Asset names contain a content digest, so assets never change. */
export const CACHE_CONTROL = { html: 'no-cache', assets: 'public, max-age=31536000, immutable' } as const;

/** Security headers of images from others: when opened as a page, they run nothing and load nothing. */
export const PICTURE_HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy': "default-src 'none';style-src 'unsafe-inline';sandbox",
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/**
 * Returns the web UI's security headers. Its Content Security Policy (Level 3, with Trusted Types) allows its own files and
 * connections to this API and the identity providers, but no inline scripts or styles.
 */
export function pageHeaders(oauth: OAuthConfig | null): Readonly<Record<string, string>> {
  const providers = (oauth?.providers ?? []).flatMap(({ issuerUrl, connectOrigins }) => [
    new URL(issuerUrl).origin,
    ...connectOrigins,
  ]);
  const directives: Readonly<Record<string, readonly string[]>> = {
    'default-src': ["'none'"],
    'script-src': ["'self'"],
    'style-src': ["'self'"],
    // Icons are fetched with the session's token and shown from memory.
    'img-src': ["'self'", 'blob:'],
    'connect-src': ["'self'", ...new Set(providers)],
    'base-uri': ["'none'"],
    'form-action': ["'none'"],
    'frame-ancestors': ["'none'"],
    'require-trusted-types-for': ["'script'"],
    'trusted-types': ["'none'"],
  };
  return {
    'Content-Security-Policy': Object.entries(directives)
      .map(([name, values]) => `${name} ${values.join(' ')}`)
      .join(';'),
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
  };
}
