import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Pool } from 'undici';
import { stringify } from 'yaml';
import { loadConfig } from '../../../dist/config/load-config.js';
import { startService } from '../../../dist/app/start-service.js';
import { createLogger } from '../../../dist/telemetry/logger.js';
import type { TestDatabase } from '../database.js';
import type { Issuer } from '../issuer.js';
import { makeToken } from '../tokens.js';
import { type Held, MAPPED, type Setting } from './model.js';

const CONNECTIONS = 3;

/** A service for the model check: in-process, without a log, called over keep-alive connections. */
export interface Replica {
  get(path: string, token?: string | null): Promise<{ status: number; text: string }>;
  post(path: string, body: object, token?: string | null): Promise<{ status: number; text: string }>;
  stop(): Promise<void>;
}

/**
 * Starts a service with this setting on a shared database; its configuration declares no sources or
 * registries.
 */
export async function startReplica(
  setting: Setting,
  { connection }: TestDatabase,
  issuer: Issuer,
): Promise<Replica> {
  const folder = await mkdtemp(join(tmpdir(), 'registry-model-'));
  const file = join(folder, 'registry.yaml');
  const max = CONNECTIONS + 1;
  await writeFile(
    file,
    stringify({
      auth: authOf(setting, issuer),
      database: { ...connection, pool: { max } },
      adminOpenAccess: setting.adminOpenAccess,
      // The callers of all states share a few subjects.
      limits: { searchesPerCaller: 1_000 },
    }),
  );
  const { config } = loadConfig(file, {}, { address: '127.0.0.1:0', internalAddress: '127.0.0.1:0' });
  const { version: node_version, platform } = process;
  const version = { version: '0', commit: '', build_date: '', node_version, platform };
  const service = await startService(config, version, createLogger('silent'));
  const pool = new Pool(`http://127.0.0.1:${service.publicPort}`, { connections: CONNECTIONS });
  const send = async (method: 'GET' | 'POST', path: string, token?: string | null, sent?: object) => {
    const headers = {
      ...(token == null ? {} : { authorization: `Bearer ${token}` }),
      ...(sent ? { 'content-type': 'application/json' } : {}),
    };
    const request = { method, path, headers, ...(sent ? { body: JSON.stringify(sent) } : {}) };
    const { statusCode, body } = await pool.request(request);
    return { status: statusCode, text: await body.text() };
  };
  return {
    get: (path, token) => send('GET', path, token),
    post: (path, body, token) => send('POST', path, token, body),
    stop: async () => {
      await pool.close();
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A token of the issuer. There are thousands, so it is signed quickly and not registered as a secret. */
export function tokenFor(issuer: Issuer, caller: Held): string {
  const kid = 'model';
  const { alg, privateKey } = issuer.key(kid, { alg: 'ES256' });
  return makeToken({
    header: { alg, kid, typ: 'JWT' },
    payload: issuer.claims({ ...caller }),
    key: privateKey,
  });
}

function authOf(
  { mode, roles, mappings, arrayValues, unlabeled, registryListing }: Setting,
  { iss, audience }: Issuer,
): object {
  const policy = { arrayValues, unlabeled, registryListing };
  if (mode === 'anonymous') return { mode };
  const provider = { name: 'model', issuerUrl: iss, audience, allowPrivateIP: true };
  const mapped = MAPPED.map((name, index) => ({
    ...provider,
    name,
    audience: name,
    claims: mappings[index],
  }));
  const providers = [provider, ...mapped];
  const oauth = { resourceUrl: 'https://registry.example.com', providers };
  return { mode: 'oauth', oauth, ...(mode === 'full' ? { authz: { roles, policy } } : {}) };
}
