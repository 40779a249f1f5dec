import { Injectable } from '@nestjs/common';
import type { ReadEntry } from '../auth/route.js';
import { CatalogService } from '../catalog/catalog.service.js';
import { bareListRequest, serverListRequest } from '../catalog/list-request.js';
import { type ClientName, CLIENTS } from '../client-config/clients.js';
import { setupOf } from '../client-config/client-setup.js';
import { ENTRY_TYPES } from '../documents/entry-types.js';
import type { CachedJson } from '../http/json-answers.js';
import { memberText } from '../json/json-text.js';
import { elements, member } from '../json/json-values.js';
import type { VerifiedAccess } from '../visibility/registry-views.js';
import {
  CONNECT_INPUT,
  CONNECT_OUTPUT,
  GET_SERVER_INPUT,
  GET_SERVER_OUTPUT,
  GET_SKILL_INPUT,
  GET_SKILL_OUTPUT,
  searchInput,
  searchOutput,
  SERVER_ROW,
  SKILL_ROW,
  type Tool,
} from './tool-schemas.js';

interface SearchArguments {
  readonly query?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

interface VersionArguments {
  readonly name: string;
  readonly version?: string;
}

interface SkillArguments extends VersionArguments {
  readonly namespace: string;
}

/** The tools (reference/mcp). They give each caller the same data as the REST API does, in a shorter form. */
@Injectable()
export class Tools {
  /** The rows built from a cached page; evicted with the page. */
  private readonly rowsByPage = new WeakMap<CachedJson, object>();

  constructor(private readonly catalog: CatalogService) {}

  readonly all: readonly Tool[] = [
    {
      name: 'search_servers',
      title: 'Search MCP servers',
      description: 'Lists the MCP servers of this registry, each in its latest version, ordered by name.',
      inputSchema: searchInput('servers', ENTRY_TYPES.server.perPage),
      outputSchema: searchOutput('servers', SERVER_ROW),
      run: async (access: VerifiedAccess, args: SearchArguments) => {
        const request = serverListRequest({ ...queryOf(args), version: 'latest' });
        return this.rowsOf(await this.catalog.list(access, 'server', request), 'servers', serverRow);
      },
    },
    {
      name: 'get_server',
      title: 'Get an MCP server',
      description: 'The full document of one MCP server, with its registry metadata.',
      inputSchema: GET_SERVER_INPUT,
      outputSchema: GET_SERVER_OUTPUT,
      entryOf: serverNamed,
      run: async (access: VerifiedAccess, { name, version = 'latest' }: VersionArguments) =>
        (await this.catalog.version(access, 'server', name, version, false)).bytes,
    },
    {
      name: 'search_skills',
      title: 'Search skills',
      description: 'Lists the skills of this registry, each in its latest version, ordered by name.',
      inputSchema: searchInput('skills', ENTRY_TYPES.skill.perPage),
      outputSchema: searchOutput('skills', SKILL_ROW),
      run: async (access: VerifiedAccess, args: SearchArguments) => {
        const request = bareListRequest('skill', queryOf(args));
        const page = await this.catalog.list(access, 'skill', request);
        return this.rowsOf(page, 'skills', (document) => picked(document, SKILL_KEYS));
      },
    },
    {
      name: 'get_skill',
      title: 'Get a skill',
      description: 'The full document of one skill.',
      inputSchema: GET_SKILL_INPUT,
      outputSchema: GET_SKILL_OUTPUT,
      entryOf: skillNamed,
      run: async (access: VerifiedAccess, { namespace, name, version = 'latest' }: SkillArguments) => {
        const found = await this.catalog.version(access, 'skill', `${namespace}/${name}`, version, false);
        return Buffer.concat([Buffer.from('{"skill":'), found.bytes, Buffer.from('}')]);
      },
    },
    {
      name: 'how_to_connect',
      title: 'How to connect to an MCP server',
      description: "What to add to a client's configuration to connect to one MCP server.",
      inputSchema: CONNECT_INPUT,
      outputSchema: CONNECT_OUTPUT,
      entryOf: serverNamed,
      run: async (
        access: VerifiedAccess,
        { name, version = 'latest', client }: VersionArguments & { client?: ClientName },
      ) => {
        const found = textOf(await this.catalog.version(access, 'server', name, version, false));
        const document = memberText(found, 'server') ?? '';
        const server = { name, version: textMember(document, 'version'), document };
        return {
          name: server.name,
          version: server.version,
          clients: (client ? [client] : CLIENTS).map((each) => setupOf(each, server)),
        };
      },
    },
  ];

  private rowsOf(page: CachedJson, listKey: string, row: (item: unknown) => object): object {
    const cached = this.rowsByPage.get(page);
    if (cached) return cached;
    const list = JSON.parse(textOf(page)) as object;
    const { count, nextCursor } = member(list, 'metadata') as { count: number; nextCursor?: string };
    const rows = {
      [listKey]: elements(member(list, listKey)).map(row),
      count,
      ...(nextCursor === undefined ? {} : { nextCursor }),
    };
    this.rowsByPage.set(page, rows);
    return rows;
  }
}

function queryOf({ query, limit, cursor }: SearchArguments) {
  return {
    ...(query === undefined ? {} : { search: query }),
    ...(limit === undefined ? {} : { limit: String(limit) }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

function serverNamed({ name, version }: VersionArguments): ReadEntry {
  return { type: 'server', name, ...(version === undefined ? {} : { version }) };
}

function skillNamed({ namespace, name, version }: SkillArguments): ReadEntry {
  return { type: 'skill', name: `${namespace}/${name}`, ...(version === undefined ? {} : { version }) };
}

const SERVER_KEYS = ['name', 'version', 'title', 'description', 'websiteUrl'];

const SKILL_KEYS = ['namespace', 'name', 'version', 'title', 'description', 'status'];

const OFFICIAL = 'io.modelcontextprotocol.registry/official';

function serverRow(item: unknown): object {
  const status = member(member(member(item, '_meta'), OFFICIAL), 'status');
  return { ...picked(member(item, 'server'), SERVER_KEYS), status };
}

function picked(document: unknown, keys: readonly string[]): object {
  const members = keys.map((key) => [key, member(document, key)] as const);
  return Object.fromEntries(members.filter(([, value]) => typeof value === 'string'));
}

function textOf({ bytes }: CachedJson): string {
  return bytes.toString();
}

/** Returns a text in a document without parsing all of it. */
function textMember(document: string, key: string): string {
  return String(JSON.parse(memberText(document, key) ?? '""'));
}
