// The upper bound for uncached reads: a Nest + Express route that checks an RS256 token, runs one prepared
// SELECT and sends the same bytes. No guard, view or log. Like the service, it verifies a token once and
// caches it for a minute. Usage: bare-reads.js <port> <file>; the file contains BareReads as JSON.
import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Controller, Get, Header, Headers, Module, Param, UnauthorizedException } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import pg from 'pg';
import 'reflect-metadata';
import { nextListCursor } from '#service/catalog/list-request.js';
import { itemBody, listBody, type VersionRow } from '#service/catalog/page-body.js';

export interface BareReads {
  readonly connection: pg.PoolConfig;
  /** The issuer's public key. */
  readonly key: JsonWebKey;
  /** The version ids of each page: `/lists/0` shows the first. */
  readonly pages: readonly (readonly string[])[];
  readonly limit: number;
}

const KEPT_MS = 60_000;
const COLUMNS = `e.name, v.version, v.version_key as key, v.document, v.status, v.status_message as "statusMessage",
  to_char(v.status_changed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "statusChangedAt",
  to_char(v.published_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "publishedAt",
  to_char(v.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "updatedAt", v.is_latest as "isLatest"`;
const BY_ID = `select ${COLUMNS} from entry_version v join entry e on e.id = v.entry_id where v.id = $1`;
const BY_IDS = `select ${COLUMNS} from entry_version v join entry e on e.id = v.entry_id where v.id = any($1::bigint[])
  order by e.name, v.version_key desc`;

const [port, file = ''] = process.argv.slice(2);
const { connection, key, pages, limit } = JSON.parse(readFileSync(file, 'utf8')) as BareReads;
const publicKey = createPublicKey({ key, format: 'jwk' });
const pool = new pg.Pool(connection);
const verified = new Map<string, number>();

function checkToken(authorization = ''): void {
  const token = authorization.replace(/^Bearer /, '');
  if ((verified.get(token) ?? 0) > Date.now()) return;
  const [header = '', payload = '', signature = ''] = token.split('.');
  const signed = Buffer.from(`${header}.${payload}`);
  const { exp } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { exp: number };
  if (exp * 1_000 < Date.now() || !verify('sha256', signed, publicKey, Buffer.from(signature, 'base64url')))
    throw new UnauthorizedException();
  verified.set(token, Date.now() + KEPT_MS);
}

@Controller()
class BareReadsController {
  @Get('versions/:id')
  @Header('Content-Type', 'application/json; charset=utf-8')
  async version(@Headers('authorization') authorization: string, @Param('id') id: string): Promise<string> {
    checkToken(authorization);
    const { rows } = await pool.query<VersionRow>({ name: 'by-id', text: BY_ID, values: [id] });
    return rows.flatMap((row) => itemBody('server', row)).join('');
  }

  @Get('lists/:page')
  @Header('Content-Type', 'application/json; charset=utf-8')
  async list(@Headers('authorization') authorization: string, @Param('page') page: string): Promise<string> {
    checkToken(authorization);
    const values = [pages[Number(page)]];
    const { rows } = await pool.query<VersionRow>({ name: 'by-ids', text: BY_IDS, values });
    const last = rows.at(-1);
    const cursor = last && nextListCursor('server', { filter: {}, limit, after: null }, last);
    return listBody('server', rows, cursor).join('');
  }

  @Get('ready')
  ready(): string {
    return 'ready';
  }
}

@Module({ controllers: [BareReadsController] })
class BareModule {}

const app = await NestFactory.create<NestExpressApplication>(BareModule, { logger: false });
await app.listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)));
