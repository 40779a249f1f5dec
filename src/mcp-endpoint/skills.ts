import { isUtf8 } from 'node:buffer';
import { createRequire } from 'node:module';
import { buffer } from 'node:stream/consumers';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { callerKeyOf } from '../auth/caller.js';
import type { LoadedRequest } from '../auth/route.js';
import { ContentStore } from '../content/content-store.queries.js';
import type { ContentTreeFile } from '../content/content-tree.js';
import { ApiError } from '../http/errors.js';
import { MAX_PAGE_BYTES } from '../http/lists.js';
import { Semaphore } from '../limits/semaphore.js';
import {
  type ContentVersion,
  EntriesWithContent,
  type EntryWithFiles,
} from '../content/entries-with-content.queries.js';
import { isStorable } from '../validation/storable-text.js';
import type { VerifiedAccess } from '../visibility/registry-views.js';
import { type InsertedJson, quotedJson, STRING_PLACE } from './inserted-json.js';
import type { Skill, SkillFile } from './message-handler.js';

/** Unlike `import()`, it tries again after a failure, such as too many open files. */
const requireEsm = createRequire(import.meta.url);

const MANIFEST = 'SKILL.md';
/** The limits of the extension: hosts need not load larger skills. */
const MAX_FILES = 512;
const MAX_BYTES = 16 * 1024 * 1024;
/** Skills with a longer SKILL.md are not served, because lists read the SKILL.md of each skill. */
const MAX_MANIFEST_BYTES = 256 * 1024;
/** A longer file is read from the zip file of the skill's content. */
const MAX_FILE_BYTES = 4 * 1024 * 1024;
/** Longer texts are sent as base64, which is much faster than JSON text. */
const MAX_TEXT_BYTES = 1024 * 1024;
/** Smaller files are served without waiting for a turn. */
const LARGE_FILE_BYTES = 64 * 1024;
const MAX_PAGE_SKILLS = 50;
/** Maximum characters of cached frontmatter: publishers choose its length. */
const MAX_CACHED_CHARACTERS = 4 * 1024 * 1024;

const TOO_LARGE = 'This file is larger than 4 MiB: read it from the zip file of the content of this skill';

interface SkillName {
  /** `namespace/name`. */
  readonly name: string;
  readonly path: string;
}

/**
 * Serves skills through the MCP extension `io.modelcontextprotocol/skills`: the latest version of each skill that the
 * caller sees, if it has content (reference/mcp). https://github.com/modelcontextprotocol/ext-skills
 */
@Injectable()
export class Skills {
  /** Frontmatter by skill and digest of its SKILL.md; null if it does not follow the Agent Skills specification. */
  private readonly frontmatters = new LRUCache<string, { readonly value: Skill['frontmatter'] | null }>({
    maxSize: MAX_CACHED_CHARACTERS,
    sizeCalculation: ({ value }, key) => JSON.stringify(value).length + key.length + 100,
  });
  /** One large file is read, or one SKILL.md parsed, at a time; callers take turns. */
  private readonly turns = new Semaphore(1);

  constructor(
    private readonly entries: EntriesWithContent,
    private readonly content: ContentStore,
  ) {}

  async list(
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
      const skill = await this.skillOf(access, entry);
      characters += skill ? JSON.stringify(skill).length : 0;
      if (characters > MAX_PAGE_BYTES && skills.length > 0) break;
      if (skill) skills.push(skill);
      last = entry.name;
    }
    const isEnd = last === (rest.at(-1)?.name ?? after);
    return { skills, ...(isEnd ? {} : { nextCursor: Buffer.from(last).toString('base64url') }) };
  }

  async get(access: VerifiedAccess, request: LoadedRequest, uri: string): Promise<Skill | null> {
    const named = parseUri(uri);
    const entry = named?.path === MANIFEST ? await this.find(access, named.name) : null;
    const skill = entry && (await this.skillOf(access, entry));
    if (skill && named) request.readEntry = { type: 'skill', name: named.name };
    return skill;
  }

  /** @throws ApiError 413 `content_too_large`; SemaphoreTimeout. */
  async read(
    access: VerifiedAccess,
    request: LoadedRequest,
    uri: string,
    insert: (json: InsertedJson) => void,
  ): Promise<SkillFile | null> {
    const named = parseUri(uri);
    const entry = named && (await this.find(access, named.name));
    const file =
      entry && (await this.skillOf(access, entry)) && entry.files.find(({ path }) => path === named.path);
    if (!file) return null;
    request.readEntry = { type: 'skill', name: named.name };
    if (file.bytes > MAX_FILE_BYTES) throw new ApiError('content_too_large', TOO_LARGE);
    const read = async () => fileOf(uri, file.path, await buffer(this.content.read(file.digest)), insert);
    return file.bytes > LARGE_FILE_BYTES ? inTurn(this.turns, access, read) : read();
  }

  private async find(access: VerifiedAccess, name: string): Promise<EntryWithFiles | null> {
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
  private async skillOf(access: VerifiedAccess, { name, files }: EntryWithFiles): Promise<Skill | null> {
    const manifest = files.find(({ path }) => path === MANIFEST);
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    if (!manifest || manifest.bytes > MAX_MANIFEST_BYTES || files.length > MAX_FILES || bytes > MAX_BYTES)
      return null;
    const frontmatter = await this.frontmatterOf(access, name, manifest);
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

  private async frontmatterOf(
    access: VerifiedAccess,
    name: string,
    manifest: ContentTreeFile,
  ): Promise<Skill['frontmatter'] | null> {
    const key = `${name} ${manifest.digest}`;
    const cached = this.frontmatters.get(key);
    if (cached) return cached.value;
    const bytes = await buffer(this.content.read(manifest.digest));
    const value = await inTurn(this.turns, access, () => frontmatterIn(name, bytes));
    this.frontmatters.set(key, { value });
    return value;
  }
}

function inTurn<T>(turns: Semaphore, { client, caller }: VerifiedAccess, work: () => Promise<T>): Promise<T> {
  return turns.run(callerKeyOf(caller, client), undefined, work);
}

/** Returns null for a SKILL.md that does not follow the Agent Skills specification. */
async function frontmatterIn(name: string, bytes: Buffer): Promise<Skill['frontmatter'] | null> {
  const { skillEntry, SkillCatalogError } = requireEsm(
    './skill-entry.js',
  ) as typeof import('./skill-entry.js');
  try {
    return (await skillEntry(name, { [MANIFEST]: bytes })).frontmatter;
  } catch (error) {
    if (SkillCatalogError.isInstance(error)) return null;
    throw error;
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

/** Returns short UTF-8 without control characters as text, so that its digest matches the bytes. */
async function fileOf(
  uri: string,
  path: string,
  bytes: Buffer,
  insert: (json: InsertedJson) => void,
): Promise<SkillFile> {
  const known = MEDIA_TYPES[/\.([a-z]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ''];
  const isText = bytes.length <= MAX_TEXT_BYTES && isUtf8(bytes) && !CONTROL.test(bytes.toString());
  insert({
    string: isText ? await quotedJson(bytes) : Buffer.from(`"${bytes.toString('base64')}"`, 'latin1'),
  });
  return isText
    ? { uri, mimeType: known ?? 'text/plain', text: STRING_PLACE }
    : { uri, mimeType: known ?? 'application/octet-stream', blob: STRING_PLACE };
}
