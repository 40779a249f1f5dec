import { QueryRunnerAlreadyReleasedError } from 'typeorm';
import { describe, expect, it } from 'vitest';
import {
  databaseStartError,
  isDatabaseUnreachable,
  isLockConflict,
  isStatementTimeout,
  isStorageFull,
} from './database-errors.js';
import { checkServerVersion } from './open-database.js';

const WHERE = { host: 'db.example', port: 5432, user: 'me', database: 'reg' };
const failed = (message: string, more: object = {}) => Object.assign(new Error(message), more);

describe('a database start-up error includes the database and the remedy', () => {
  it.each([
    [failed('connect ECONNREFUSED', { code: 'ECONNREFUSED' }), 'is not reachable', 'database.port'],
    [
      new AggregateError([failed('connect ECONNREFUSED ::1', { code: 'ECONNREFUSED' })]),
      'is not reachable',
      'listens',
    ],
    [
      failed('getaddrinfo', { code: 'ENOTFOUND' }),
      'the host name db.example does not resolve',
      'database.host',
    ],
    [
      failed('connect', { code: 'ENOENT', syscall: 'connect' }),
      'has no socket at this path',
      'PostgreSQL is running',
    ],
    [
      failed('password authentication failed', { code: '28P01' }),
      'rejects the password of user me',
      'passwordFile',
    ],
    [failed('SASL: client password must be a string'), 'rejects the password', 'pgpass'],
    [failed('no pg_hba.conf entry', { code: '28000' }), 'rejects user me', 'sslMode'],
    [
      failed('database "reg" does not exist', { code: '3D000' }),
      'does not exist',
      'create database reg owner me',
    ],
    [failed('The server does not support SSL connections'), 'does not support TLS', 'sslMode'],
    [
      failed('self-signed certificate', { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }),
      'cannot be verified',
      'sslRootCertFile',
    ],
    [
      failed('Hostname/IP does not match', { code: 'ERR_TLS_CERT_ALTNAME_INVALID' }),
      'cannot be verified',
      'database.host',
    ],
    [
      failed('certificate has expired', { code: 'CERT_HAS_EXPIRED' }),
      'cannot be verified',
      'sslRootCertFile',
    ],
    [failed('alert', { code: 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED' }), 'TLS handshake', 'sslCertFile'],
    [
      failed('permission denied for schema public', { code: '42501' }),
      'does not allow user me',
      'migrationUser',
    ],
    [
      failed('unsupported startup parameter: statement_timeout', { code: '08P01' }),
      'pooler',
      'ignore_startup_parameters',
    ],
    [failed('read-only transaction', { code: '25006' }), 'standby', 'primary'],
    [failed('recovery is in progress', { code: '55000' }), 'standby', 'primary'],
    [failed('too many clients', { code: '53300' }), 'grants user me no more', 'max_connections'],
    [failed('could not extend file "x"', { code: '53100' }), 'a full or read-only disk', 'Free space'],
    [failed('query failed', { driverError: failed('x', { code: '42501' }) }), 'does not allow', 'owner'],
  ])('%s', (error, what, remedy) => {
    const { message } = databaseStartError(error, WHERE) ?? {};
    expect(message).toMatch(/^The database "reg" at db\.example:5432 /);
    expect(message).toContain(what);
    expect(message).toContain(remedy);
  });

  it('is undefined for an unrelated error', () => {
    expect(databaseStartError(failed('syntax error', { code: '42601' }), WHERE)).toBeUndefined();
  });
});

it.each([
  [13, 'PostgreSQL 13: this server needs 14 or newer'],
  [9, 'PostgreSQL 9'],
  [Number.NaN, 'needs 14 or newer'],
])('rejects server version %s', (version, fragment) => {
  expect(() => checkServerVersion(version, WHERE)).toThrow(fragment);
  expect(() => checkServerVersion(14, WHERE)).not.toThrow();
});

const error = (message: string, more: object = {}) => Object.assign(new Error(message), more);

describe('a database error', () => {
  it.each([
    [error('x', { code: 'ECONNREFUSED' }), true],
    [error('x', { code: '57P01' }), true],
    [error('x', { code: '57P03' }), true],
    [error('x', { code: '08006' }), true],
    [error('server_login_retry', { code: '08P01' }), true],
    [error('unsupported startup parameter: statement_timeout', { code: '08P01' }), false],
    [error('x', { code: '53300' }), true],
    [error('x', { code: '25006' }), true],
    [error('x', { code: '55000' }), true],
    [error('connect', { code: 'ENOENT', syscall: 'connect' }), true],
    [error('open', { code: 'ENOENT', syscall: 'open' }), false],
    [error('Connection terminated unexpectedly'), true],
    [error('timeout exceeded when trying to connect'), true],
    // TypeORM's, when a connection ends between two statements of a transaction.
    [new QueryRunnerAlreadyReleasedError(), true],
    [error('wrapped', { driverError: error('x', { code: 'ECONNRESET' }) }), true],
    [new AggregateError([error('x', { code: 'ECONNREFUSED' })], 'both addresses'), true],
    [error('x', { code: '23505' }), false],
    [error('x', { code: '28P01' }), false],
    [error('x', { code: '57014' }), false],
    [error('syntax error'), false],
    ['ECONNREFUSED', false],
    [null, false],
  ])('%s means unreachable: %s', (value, answer) => expect(isDatabaseUnreachable(value)).toBe(answer));

  it.each([
    ['57014', true],
    ['55P03', true],
    ['40P01', true],
    ['40001', true],
    ['53200', true],
    ['53100', false],
    ['57P01', false],
    ['23505', false],
  ])('SQLSTATE %s is worth a retry: %s', (code, answer) =>
    expect(isStatementTimeout(error('x', { code }))).toBe(answer),
  );

  it.each([
    ['55P03', true],
    ['40P01', true],
    ['57014', false],
    ['53200', false],
  ])('SQLSTATE %s is a lock conflict: %s', (code, answer) =>
    expect(isLockConflict(error('x', { code }))).toBe(answer),
  );

  it.each([
    [error('could not extend file "base/5/1": No space left on device', { code: '53100' }), true],
    [error('could not write to file "x": No space left on device', { code: '58030' }), true],
    [error('could not write block 1: Disk quota exceeded', { code: '58030' }), true],
    [error('could not open file "x": Read-only file system', { code: '42501' }), true],
    [error('permission denied for table entry', { code: '42501' }), false],
    [error('could not read block 1: Input/output error', { code: '58030' }), false],
    [error('write ENOSPC: No space left on device', { code: 'ENOSPC' }), false],
    [error('x', { code: '53200' }), false],
  ])('%s means a full disk: %s', (value, answer) => expect(isStorageFull(value)).toBe(answer));
});
