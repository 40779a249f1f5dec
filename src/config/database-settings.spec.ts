import { expect, it } from 'vitest';
import { parseDatabaseUrl } from './database-settings.js';

const plain = { host: 'db', port: 5432, user: 'me', database: 'reg', unused: [] };

it.each([
  ['postgres://me@db/reg', plain],
  ['postgresql://me@db:5433/reg', { ...plain, port: 5433 }],
  ['postgres://me:p%40ss@db/reg', { ...plain, password: 'p@ss' }],
  ['postgres://me@[::1]/reg', { ...plain, host: '::1' }],
  ['postgres://me@/reg', { ...plain, host: 'localhost' }],
  ['postgres://me@%2Fvar%2Frun/reg', { ...plain, host: '/var/run' }],
  ['postgres:///reg?host=/var/run&user=me', { ...plain, host: '/var/run' }],
  ['postgres://me@db/reg?sslmode=disable', { ...plain, tls: { mode: 'disable' } }],
  ['postgres://me@db/reg?sslmode=prefer', { ...plain, tls: { mode: 'prefer' } }],
  ['postgres://me@db/reg?sslmode=require', { ...plain, tls: { mode: 'require' } }],
  ['postgres://me@db/reg?sslmode=verify-full', { ...plain, tls: { mode: 'verify-full' } }],
  ['postgres://me@db/reg?uselibpqcompat=true&sslmode=require', { ...plain, tls: { mode: 'require' } }],
  ['postgres://me@db/reg?application_name=x', { ...plain, unused: ['application_name'] }],
])('parses %s', (url, parsed) => expect(parseDatabaseUrl(url)).toEqual(parsed));

it.each([
  [5, 'must be a URL'],
  ['', 'must be a URL'],
  ['db', 'must be a URL'],
  ['mysql://me@db/reg', 'must be a URL'],
  ['/var/run reg', 'must be a URL'],
  ['postgres://db/reg', 'must contain the user'],
  ['postgres://me@db', 'must contain the database'],
  ['postgres://me@db:99999/reg', 'is not a valid PostgreSQL URL'],
  ['postgres://me:hunter2@db:x/reg', 'is not a valid PostgreSQL URL'],
  ['postgres://me:hunter2@a,b/%', 'is not a valid PostgreSQL URL'],
  ['postgres://me:hunter2@db/reg?port=0', 'must have a port'],
  ['postgres://me:hunter2@db/reg?sslmode=allow', 'must have one of these sslmodes'],
  ['postgres://me:hunter2@db/reg?sslmode=verify-ca', 'needs an sslrootcert'],
  ['postgres://me:hunter2@db/reg?sslrootcert=/nowhere/ca.pem', "can't be read (ENOENT): /nowhere/ca.pem"],
])('refuses %s without quoting it', (url, fragment) => {
  const sentence = parseDatabaseUrl(url);
  expect(sentence).toContain(fragment);
  expect(sentence).not.toContain('hunter2');
});
