import { oneOf, text, wholeNumber } from '../../validation/value-checks.js';
import { SSL_MODES, type SslMode, tlsIssues } from './database-tls.js';
import { databaseUrl, parseDatabaseUrl } from './database-url.js';
import { below, type Issue, issue } from '../../validation/problems.js';
import { Checked, Optional, Rule, Section, type Unchecked } from '../../validation/class-checks.js';

export class PoolSettings {
  @Optional() @Checked(wholeNumber(1, 1_000)) max?: number;
}

/** How to reach a PostgreSQL; without this section an embedded one is started (contract §2). */
@Rule<DatabaseSettings>(urlOrParts)
@Rule<DatabaseSettings>(oneSecret('password', 'passwordFile'))
@Rule<DatabaseSettings>(oneSecret('migrationPassword', 'migrationPasswordFile'))
@Rule<DatabaseSettings>((database) =>
  database.migrationUser === undefined &&
  (database.migrationPassword !== undefined || database.migrationPasswordFile !== undefined)
    ? below(['migrationUser'], issue('is required beside a password for it'))
    : [],
)
export class DatabaseSettings {
  @Optional() @Checked(databaseUrl) url?: string;
  @Optional() @Checked(text(hostName)) host?: string;
  @Optional() @Checked(wholeNumber(1, 65_535)) port?: number;
  @Optional() @Checked(text()) user?: string;
  @Optional() @Checked(text()) database?: string;
  @Optional() @Checked(oneOf(...SSL_MODES)) sslMode?: SslMode;
  @Optional() @Checked(text()) sslRootCertFile?: string;
  @Optional() @Checked(text()) sslCertFile?: string;
  @Optional() @Checked(text()) sslKeyFile?: string;
  @Optional() @Section(() => PoolSettings) pool?: PoolSettings;
  @Optional() @Checked(text()) password?: string;
  @Optional() @Checked(text()) passwordFile?: string;
  @Optional() @Checked(text()) migrationUser?: string;
  @Optional() @Checked(text()) migrationPassword?: string;
  @Optional() @Checked(text()) migrationPasswordFile?: string;
}

function urlOrParts(database: Unchecked<DatabaseSettings>): Issue[] {
  if (database.url === undefined)
    return [
      ...(['host', 'user', 'database'] as const)
        .filter((key) => database[key] === undefined)
        .flatMap((key) => below([key], issue('is required without a url'))),
      ...tlsIssues(database, false),
    ];
  const issues = (['host', 'port', 'user', 'database'] as const)
    .filter((key) => database[key] !== undefined)
    .flatMap((key) => below([key], issue('is not possible beside a url, which says the same')));
  const parsed = parseDatabaseUrl(database.url);
  if (typeof parsed === 'string') return issues;
  issues.push(...tlsIssues(database, parsed.tls !== undefined));
  if (parsed.password === undefined) return issues;
  for (const key of ['password', 'passwordFile'] as const)
    if (database[key] !== undefined)
      issues.push(...below([key], issue('is not possible: the url holds a password')));
  return issues;
}

function oneSecret<T extends keyof DatabaseSettings>(
  inline: T,
  file: T,
): (database: Unchecked<DatabaseSettings>) => Issue[] {
  return (database) =>
    database[inline] !== undefined && database[file] !== undefined
      ? below([file], issue(`is not possible beside ${inline}`))
      : [];
}

function hostName(value: string): string | undefined {
  const socketDirectory = value.startsWith('/');
  if (socketDirectory || /^[\w.:%-]+$/.test(value)) return undefined;
  return 'must be a host name, an address, or the directory of a socket';
}
