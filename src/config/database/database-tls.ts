import { below, type Issue, issue } from '../../validation/problems.js';

export const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;
export type SslMode = (typeof SSL_MODES)[number];

/** How the connection to PostgreSQL is encrypted; in the words of libpq. */
export interface DatabaseTls {
  readonly mode: SslMode;
  /** PEM; absent: the authorities of Node, with NODE_EXTRA_CA_CERTS. */
  readonly rootCert?: string;
  /** The certificate that the server asks for, and its key: PEM. */
  readonly cert?: string;
  readonly key?: string;
}

/** The settings of the file about it. */
export interface DatabaseTlsSettings {
  readonly sslMode?: unknown;
  readonly sslRootCertFile?: unknown;
  readonly sslCertFile?: unknown;
  readonly sslKeyFile?: unknown;
}

export const TLS_FILES = ['sslRootCertFile', 'sslCertFile', 'sslKeyFile'] as const;

/** @param inUrl whether the URL of the database says how the connection is encrypted. */
export function tlsIssues(database: DatabaseTlsSettings, inUrl: boolean): Issue[] {
  const given = (['sslMode', ...TLS_FILES] as const).filter((key) => database[key] !== undefined);
  if (inUrl)
    return given.flatMap((key) => below([key], issue('is not possible beside a url that says the same')));
  const files = TLS_FILES.filter((key) => database[key] !== undefined);
  if (files.length > 0 && (database.sslMode === undefined || database.sslMode === 'disable'))
    return files.flatMap((key) => below([key], issue('has no effect without an sslMode that encrypts')));
  const pair = [database.sslCertFile, database.sslKeyFile].filter((file) => file !== undefined);
  return pair.length === 1
    ? below(
        [database.sslCertFile === undefined ? 'sslCertFile' : 'sslKeyFile'],
        issue('is required: certificate and key go together'),
      )
    : [];
}
