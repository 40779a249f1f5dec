import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { compare, valid } from 'semver';
import type { Document } from './documents.js';
import { type InjectedFault, injectFault, send } from './fault-injection.js';
import { listensMeanwhile, urlOf } from './loopback.js';

export const OFFICIAL = 'io.modelcontextprotocol.registry/official';

export interface OutboundRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly authorization: string | undefined;
  readonly at: number;
}

/** Missing features and peculiarities of this registry. */
interface Habits {
  /** How these parameters are treated; `known` when absent. */
  updatedSince?: 'ignored' | 'refused';
  includeDeleted?: 'ignored' | 'refused';
  /** Items have no `_meta`, or an empty one. */
  meta?: 'absent' | 'empty';
  /** The key of the cursor, and whether `metadata.count` is present. */
  cursorKey?: 'nextCursor' | 'next_cursor';
  perPage?: number;
  /** The skill list has every version, oldest first; a skill's versions end after 30, even with a cursor. */
  skills?: 'every-version';
  /** Replaces the text of the skill list. */
  skillsText?: string;
  /** The cursors never end: each leads to the same page, or to a new page with the same content. */
  endless?: 'same-cursor' | 'new-cursors';
  /** Replaces the text of a page. */
  text?: (page: number) => string | undefined;
}

interface Failure {
  readonly status: number;
  readonly headers?: Record<string, string>;
  /** How many requests fail this way; absent: all. */
  times?: number;
}

interface Item {
  server: Document;
  _meta: { [OFFICIAL]: Document };
}

/** Habits of ToolHive's registry; its skill statuses are upper case. */
export const TOOLHIVE: Habits = { meta: 'empty', includeDeleted: 'ignored', skills: 'every-version' };

/**
 * Describes an upstream MCP registry on 127.0.0.1; `runs()` starts it before the tests of the file and stops
 * it after them.
 */
export function anUpstreamRegistry(): UpstreamRegistry {
  return new UpstreamRegistry();
}

export class UpstreamRegistry {
  readonly requests: OutboundRequest[] = [];
  /** The traceparent headers received. */
  readonly traceparents: string[] = [];
  habits: Habits = {};
  /** Its skills, if any: each with its versions, latest first. */
  skills: Document[][] | null = null;
  private items = new Map<string, Item>();
  private readonly failures = new Map<number, Failure | InjectedFault>();
  private readonly server: Server = createServer((request, response) => {
    this.answer(request, response).catch(() => response.destroy());
  });

  runs(): this {
    listensMeanwhile(this.server);
    return this;
  }

  get url(): string {
    return urlOf(this.server);
  }

  /** Adds or replaces versions, updated now. */
  put(servers: readonly Document[], official: Document = {}): this {
    for (const server of servers) {
      const key = `${String(server['name'])} ${String(server['version'])}`;
      const now = new Date().toISOString();
      const publishedAt = this.items.get(key)?._meta[OFFICIAL]['publishedAt'] ?? now;
      this.items.set(key, {
        server,
        _meta: { [OFFICIAL]: { status: 'active', publishedAt, updatedAt: now, ...official } },
      });
    }
    return this;
  }

  /** Removes a version without a trace. */
  remove(name: string, version: string): this {
    this.items.delete(`${name} ${version}`);
    return this;
  }

  /** Clears content, recorded requests and faults. */
  reset(): this {
    this.items = new Map();
    this.requests.length = 0;
    this.failures.clear();
    this.habits = {};
    this.skills = null;
    return this;
  }

  /** Makes the server list's page with this number (from 1) fail. */
  fails(page: number, how: Failure | InjectedFault): this {
    this.failures.set(page, how);
    return this;
  }

  recovers(): this {
    this.failures.clear();
    return this;
  }

  /** Returns and clears the skill paths requested. */
  skillPaths(): string[] {
    const paths = this.requests.splice(0).map(({ path }) => path.split('/x/dev.toolhive/')[1]);
    return paths.filter((path) => path?.startsWith('skills')) as string[];
  }

  /** Returns and clears the server pages requested. */
  pages(): OutboundRequest[] {
    return this.requests.splice(0).filter(({ path }) => path.endsWith('/v0.1/servers'));
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams: query } = new URL(request.url ?? '', 'http://upstream');
    const { traceparent } = request.headers;
    if (traceparent !== undefined) this.traceparents.push(String(traceparent));
    const { authorization } = request.headers;
    this.requests.push({ path: pathname, query, authorization, at: Date.now() });
    if (pathname.includes('/x/dev.toolhive/skills')) return this.answerSkills(pathname, query, response);
    if (!pathname.endsWith('/v0.1/servers')) return send(response, 404, { error: 'not found' });
    const { habits } = this;
    const isRefused = ['updatedSince', 'includeDeleted'].some(
      (habit) =>
        habits[habit as 'updatedSince'] === 'refused' &&
        query.has(habit === 'updatedSince' ? 'updated_since' : 'include_deleted'),
    );
    if (isRefused) return send(response, 422, { error: 'unexpected parameter' });
    const start = Number(query.get('cursor')?.slice(1) ?? 0);
    const { body, page } = this.page(query, start);
    const failure = this.failures.get(page);
    if (typeof failure === 'object' && 'status' in failure && failure.times !== 0) {
      if (failure.times !== undefined) failure.times -= 1;
      return void response.writeHead(failure.status, failure.headers).end('{}');
    }
    if (failure !== undefined && !(typeof failure === 'object' && 'status' in failure))
      return injectFault(response, failure, body);
    const text = habits.text?.(page);
    return text === undefined
      ? send(response, 200, body)
      : void response.writeHead(200, { 'Content-Type': 'application/json' }).end(text);
  }

  private page(query: URLSearchParams, start: number): { body: object; page: number } {
    const { perPage = 100, cursorKey = 'nextCursor', endless, ...habits } = this.habits;
    const since = habits.updatedSince ? null : query.get('updated_since');
    const withDeleted = since !== null || (!habits.includeDeleted && query.get('include_deleted') === 'true');
    const all = [...this.items.values()];
    const found = all.filter(({ _meta: { [OFFICIAL]: official } }) => {
      if (!withDeleted && official['status'] === 'deleted') return false;
      return since === null || Date.parse(String(official['updatedAt'])) >= Date.parse(since);
    });
    const from = endless ? 0 : start;
    const shown = found.slice(from, from + perPage);
    const latest = latestOf(all, new Set(shown.map(({ server }) => server['name'])));
    const servers = shown.map((item) => {
      const { server } = item;
      const { [OFFICIAL]: official } = item._meta;
      const isLatest = official['isLatest'] ?? item === latest.get(server['name']);
      if (habits.meta === undefined) return { server, _meta: { [OFFICIAL]: { ...official, isLatest } } };
      return { server, ...(habits.meta === 'empty' ? { _meta: {} } : {}) };
    });
    const next = endless === 'same-cursor' ? 1 : endless ? start + 1 : from + perPage;
    const metadata = endless || next < found.length ? { [cursorKey]: `c${next}` } : {};
    return { body: { servers, metadata }, page: Math.floor(start / perPage) + 1 };
  }

  private answerSkills(path: string, query: URLSearchParams, response: ServerResponse): void {
    if (!this.skills) return send(response, 404, { error: 'not found' });
    const { skillsText } = this.habits;
    if (skillsText !== undefined && path.endsWith('/skills'))
      return void response.writeHead(200, { 'Content-Type': 'application/json' }).end(skillsText);
    if (this.habits.skills === 'every-version') return this.answerEverySkill(path, query, response);
    const [, namespace, name] = /skills\/([^/]+)\/([^/]+)\/versions$/.exec(path) ?? [];
    const versions = this.skills.find(
      ([latest]) => latest?.['namespace'] === namespace && latest?.['name'] === name,
    );
    const skills = name === undefined ? this.skills.map(([latest]) => latest) : versions;
    if (!skills) return send(response, 404, { error: 'not found' });
    return send(response, 200, { skills, metadata: { count: skills.length } });
  }

  private answerEverySkill(path: string, query: URLSearchParams, response: ServerResponse): void {
    const [, namespace, name] = /skills\/([^/]+)\/([^/]+)\/versions$/.exec(path) ?? [];
    const order = (skill: Document) => `${String(skill['name'])} ${String(skill['version'])}`;
    const all = (this.skills ?? [])
      .flat()
      .filter((skill) => !name || (skill['namespace'] === namespace && skill['name'] === name))
      .sort((one, other) => (order(one) < order(other) ? -1 : 1));
    const start = name ? 0 : Number(query.get('cursor')?.slice(1) ?? 0);
    const end = start + (name ? 30 : (this.habits.perPage ?? Number(query.get('limit') ?? 50)));
    const skills = all.slice(start, end);
    const metadata = { count: skills.length, ...(end < all.length ? { nextCursor: `c${end}` } : {}) };
    return send(response, 200, { skills, metadata });
  }
}

// Follows the official registry: semver wins over other versions, which are ordered by publication time.
function latestOf(items: readonly Item[], names: ReadonlySet<unknown>): Map<unknown, Item> {
  const latest = new Map<unknown, Item>();
  for (const item of items) {
    const { name } = item.server;
    if (!names.has(name)) continue;
    const before = latest.get(name);
    if (!before || isNewer(item, before)) latest.set(name, item);
  }
  return latest;
}

function isNewer(one: Item, other: Item): boolean {
  const of = ({ server, _meta: { [OFFICIAL]: official } }: Item) => ({
    isDeleted: official['status'] === 'deleted',
    semver: valid(String(server['version'])),
    publishedAt: String(official['publishedAt']),
  });
  const [first, second] = [of(one), of(other)];
  if (first.isDeleted !== second.isDeleted) return second.isDeleted;
  if (first.semver && second.semver) return compare(first.semver, second.semver) > 0;
  if (first.semver || second.semver) return first.semver !== null;
  return first.publishedAt > second.publishedAt;
}
