import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import type { DatabaseTls } from '../../config/database-settings.js';

/**
 * What node-postgres takes for a mode of libpq (PostgreSQL documentation §34.19): `prefer` and `require` encrypt without looking at
 * the certificate, `verify-ca` does not compare the host's name; and `require` with authorities verifies as `verify-ca` does.
 */
export function tlsOptions(tls: DatabaseTls | undefined, host: string): false | ConnectionOptions {
  // As libpq: not on the socket of this machine.
  if (!tls || tls.mode === 'disable' || host.startsWith('/')) return false;
  const { mode, rootCert, cert, key } = tls;
  const options: ConnectionOptions = {
    ...(rootCert === undefined ? {} : { ca: rootCert }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    // Node compares with a name that was resolved; an address it has to be told.
    ...(isIP(host) ? { host } : {}),
  };
  if (mode === 'verify-full') return options;
  const isVerified = mode === 'verify-ca' || (mode === 'require' && rootCert !== undefined);
  return isVerified
    ? { ...options, checkServerIdentity: () => undefined }
    : { ...options, rejectUnauthorized: false };
}

/** Whether a connection has failed because the server does not encrypt: what `prefer` goes on without. */
export function hasNoTls(error: unknown): boolean {
  return error instanceof Error && error.message === 'The server does not support SSL connections';
}
