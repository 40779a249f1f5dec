import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';

export const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
export type SslMode = (typeof SSL_MODES)[number];

/** TLS settings of the PostgreSQL connection; modes are named as in libpq. */
export interface DatabaseTls {
  readonly mode: SslMode;
  /** PEM; default: Node's certificate authorities and NODE_EXTRA_CA_CERTS. */
  readonly rootCert?: string;
  /** Client certificate and key: PEM. */
  readonly cert?: string;
  readonly key?: string;
}

/**
 * Translates a libpq sslmode (PostgreSQL documentation §34.19) for node-postgres: `prefer` and `require` skip
 * certificate verification, `verify-ca` skips host name verification, and `require` with a root certificate acts like
 * `verify-ca`.
 */
export function tlsOptions(tls: DatabaseTls | undefined, host: string): false | ConnectionOptions {
  // A local socket is never encrypted, as in libpq.
  if (!tls || tls.mode === 'disable' || host.startsWith('/')) return false;
  const { mode, rootCert, cert, key } = tls;
  const options: ConnectionOptions = {
    ...(rootCert === undefined ? {} : { ca: rootCert }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    // node-postgres passes host names to Node for certificate verification, but not IP addresses.
    ...(isIP(host) ? { host } : {}),
  };
  if (mode === 'verify-full') return options;
  const isVerified = mode === 'verify-ca' || (mode === 'require' && rootCert !== undefined);
  return isVerified
    ? { ...options, checkServerIdentity: () => undefined }
    : { ...options, rejectUnauthorized: false };
}
