import { isUtf8 } from 'node:buffer';
import { createRequire } from 'node:module';
import { buffer } from 'node:stream/consumers';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { LoadedRequest } from '../auth/route.js';
import { ContentStore } from '../content/content-store.queries.js';
import { ApiError } from '../http/errors.js';
import { TimeSlice } from '../json/time-slice.js';
import { Quota } from '../limits/quota.js';
import { type ContentVersion, MarketplaceEntries } from '../marketplace/marketplace-entries.queries.js';
import type { ContentFile, MarketplaceEntry } from '../marketplace/plugin-tree.js';
import { isStorable } from '../validation/storable-text.js';
import type { VerifiedAccess } from '../visibility/registry-views.js';
import type { Skill, SkillFile, SkillMethods } from './message-handler.js';

/** Unlike `import()`, it tries again after a failure, such as too many open files. */
const requireEsm = createRequire(import.meta.url);

const MANIFEST = 'SKILL.md';
/** The limits of the extension: hosts need not load larger skills. */
const MAX_FILES = 512;
const MAX_BYTES = 16 * 1024 * 1024;
/** Skills with a longer SKILL.md are not served. */
const MAX_MANIFEST_BYTES = 1024 * 1024;
/** A page of a list also ends at this length. */
const MAX_PAGE_SKILLS = 50;
const MAX_PAGE_CHARACTERS = 1024 * 1024;
/** Bytes of files that are being answered, each counted three times: stored, encoded, and in the answer. */
const MAX_ANSWERED_BYTES = 192 * 1024 * 1024;
/** Characters of cached frontmatter: publishers choose how much a SKILL.md has. */
const MAX_CACHED_CHARACTERS = 4 * 1024 * 1024;
/** Bytes that are encoded at once; a multiple of three, so that base64 continues. */
const SLICE_BYTES = 192 * 1024;

interface SkillName {
  /** `namespace/name`. */
  readonly name: string;
  readonly path: string;
}

/**
 * Serves skills by the MCP extension `io.modelcontextprotocol/skills`: the latest version of each skill that the caller sees, if
 * it has content (contract §13). https://github.com/modelcontextprotocol/ext-skills
 */
@Injectable()
export class Skills {
  /** By skill and digest of its SKILL.md; null for one that does not follow the Agent Skills specification. */
  private readonly frontmatters = new LRUCache<string, { readonly value: Skill['frontmatter'] | null }>({
    maxSize: MAX_CACHED_CHARACTERS,
    sizeCalculation: ({ value }, key) => JSON.stringify(value).length + key.length + 100,
  });
  private readonly answered = new Quota({ total: MAX_ANSWERED_BYTES, reserve: true });

  constructor(
    private readonly entries: MarketplaceEntries,
    private readonly content: ContentStore,
  ) {}

  /** Returns the methods of the extension for one request. */
  methodsFor(access: VerifiedAccess, request: LoadedRequest): SkillMethods {
    return {
      list: (cursor) => this.list(access, cursor),
      get: (uri) => this.get(access, request, uri),
      read: (uri) => this.read(access, request, uri),
    };
  }

  private async list(
    access: VerifiedAccess,
    cursor: string | undefined,
  ): Promise<{ skills: Skill[]; nextCursor?: string }> {
    const after = cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString();
    if (!isStorable(after)) return { skills: [] };
    const rest = await this.entries.versions(access, {
      types: ['skill'],
      limit: MAX_PAGE_SKILLS + 1,
      after,
    });
    const page = rest.slice(0, MAX_PAGE_SKILLS);
    const skills: Skill[] = [];
    let [characters, last]: [number, string] = [0, after];
    for await (const entry of this.entries.withFiles(page)) {
      const skill = await this.skillOf(entry);
      characters += skill ? JSON.stringify(skill).length : 0;
      if (characters > MAX_PAGE_CHARACTERS && skills.length > 0) break;
      if (skill) skills.push(skill);
      last = entry.name;
    }
    const isEnd = last === (rest.at(-1)?.name ?? after);
    return { skills, ...(isEnd ? {} : { nextCursor: Buffer.from(last).toString('base64url') }) };
  }

  private async get(access: VerifiedAccess, request: LoadedRequest, uri: string): Promise<Skill | null> {
    const named = parseUri(uri);
    const entry = named?.path === MANIFEST ? await this.find(access, named.name) : null;
    const skill = entry && (await this.skillOf(entry));
    if (skill && named) request.readEntry = { type: 'skill', name: named.name };
    return skill;
  }

  /** @throws ApiError 503 `overloaded` while too many long files are being answered. */
  private async read(access: VerifiedAccess, request: LoadedRequest, uri: string): Promise<SkillFile | null> {
    const named = parseUri(uri);
    const entry = named && (await this.find(access, named.name));
    const file = entry && (await this.skillOf(entry)) && entry.files.find(({ path }) => path === named.path);
    if (!file) return null;
    request.readEntry = { type: 'skill', name: named.name };
    const key = access.client.callerKey(access.caller);
    const reserved = 3 * file.bytes;
    if (!this.answered.tryAcquire(key, reserved)) throw new ApiError('overloaded');
    try {
      return { uri, ...(await contentOf(file.path, await buffer(this.content.read(file.digest)))) };
    } finally {
      this.answered.release(key, reserved);
    }
  }

  private async find(access: VerifiedAccess, name: string): Promise<MarketplaceEntry | null> {
    if (!isStorable(name)) return null;
    const versions: readonly ContentVersion[] = await this.entries.versions(access, {
      types: ['skill'],
      limit: 1,
      name,
    });
    for await (const entry of this.entries.withFiles(versions)) return entry;
    return null;
  }

  /** Returns null for a skill that hosts could not load. */
  private async skillOf({ name, files }: MarketplaceEntry): Promise<Skill | null> {
    const manifest = files.find(({ path }) => path === MANIFEST);
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    if (!manifest || manifest.bytes > MAX_MANIFEST_BYTES || files.length > MAX_FILES || bytes > MAX_BYTES)
      return null;
    const frontmatter = await this.frontmatterOf(name, manifest);
    return (
      frontmatter && {
        uri: uriOf(name, MANIFEST),
        frontmatter,
        resources: files.map(({ path, digest, bytes: size }) => ({
          uri: uriOf(name, path),
          digest: `sha256:${digest}`,
          size,
        })),
      }
    );
  }

  private async frontmatterOf(name: string, manifest: ContentFile): Promise<Skill['frontmatter'] | null> {
    const key = `${name} ${manifest.digest}`;
    const cached = this.frontmatters.get(key);
    if (cached) return cached.value;
    const { skillEntry, SkillCatalogError } = requireEsm(
      './skill-entry.js',
    ) as typeof import('./skill-entry.js');
    const value = await skillEntry(name, {
      [MANIFEST]: await buffer(this.content.read(manifest.digest)),
    }).then(
      ({ frontmatter }) => frontmatter,
      (error: unknown) => {
        if (SkillCatalogError.isInstance(error)) return null;
        throw error;
      },
    );
    this.frontmatters.set(key, { value });
    return value;
  }
}

function uriOf(name: string, path: string): string {
  return `skill://${[...name.split('/'), ...path.split('/')].map(encodeURIComponent).join('/')}`;
}

function parseUri(uri: string): SkillName | null {
  const [, namespace, skill, path] = /^skill:\/\/([^/?#]+)\/([^/?#]+)\/([^?#]+)$/.exec(uri) ?? [];
  try {
    return namespace && skill && path
      ? {
          name: `${decodeURIComponent(namespace)}/${decodeURIComponent(skill)}`,
          path: path.split('/').map(decodeURIComponent).join('/'),
        }
      : null;
  } catch {
    return null;
  }
}

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  md: 'text/markdown',
  json: 'application/json',
  html: 'text/html',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  pdf: 'application/pdf',
};

/** Takes six characters in JSON. */
const CONTROL = /(?![\n\r\t])\p{Cc}/u;

/** Returns bytes as text if they are UTF-8 without control characters, so that the text has the digest of the bytes. */
async function contentOf(path: string, bytes: Buffer): Promise<Omit<SkillFile, 'uri'>> {
  const known = MEDIA_TYPES[/\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''];
  const text = isUtf8(bytes) ? await encodedText(bytes) : null;
  if (text) return { kind: 'text', mimeType: known ?? 'text/plain', content: text };
  const content = await encoded(bytes, (slice) => slice.toString('base64'));
  return { kind: 'blob', mimeType: known ?? 'application/octet-stream', content };
}

async function encodedText(bytes: Buffer): Promise<Buffer | null> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let isText = true;
  const content = await encoded(bytes, (slice) => {
    const text = isText ? decoder.decode(slice, { stream: true }) : '';
    isText &&= !CONTROL.test(text);
    return isText ? JSON.stringify(text).slice(1, -1) : '';
  });
  return isText ? content : null;
}

/** Returns JSON text in UTF-8. A file may have megabytes, so other requests go on between its slices. */
async function encoded(bytes: Buffer, encode: (slice: Buffer) => string): Promise<Buffer> {
  const time = new TimeSlice();
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    await time.pause();
    parts.push(Buffer.from(encode(bytes.subarray(at, at + SLICE_BYTES))));
  }
  return Buffer.concat([Buffer.from('"'), ...parts, Buffer.from('"')]);
}
