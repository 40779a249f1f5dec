import { expect, it } from 'vitest';
import { tlsOptions } from './tls.js';

const ca = { rootCert: 'ca' };

it.each<[string, Parameters<typeof tlsOptions>[0], object | false]>([
  ['db', undefined, false],
  ['db', { mode: 'disable' }, false],
  ['/var/run', { mode: 'verify-full' }, false],
  ['db', { mode: 'prefer' }, { rejectUnauthorized: false }],
  ['db', { mode: 'require' }, { rejectUnauthorized: false }],
  ['db', { mode: 'verify-full' }, {}],
  ['db', { mode: 'verify-full', ...ca, cert: 'c', key: 'k' }, { ca: 'ca', cert: 'c', key: 'k' }],
  ['10.0.0.1', { mode: 'verify-full', ...ca }, { ca: 'ca', host: '10.0.0.1' }],
  ['db', { mode: 'prefer', ...ca }, { ca: 'ca', rejectUnauthorized: false }],
])('for host %s maps the TLS settings %j to %j', (host, tls, options) =>
  expect(tlsOptions(tls, host)).toEqual(options),
);

it.each([{ mode: 'verify-ca' } as const, { mode: 'require', ...ca } as const])(
  'with %j verifies the certificate but not the host name',
  (tls) => {
    const options = tlsOptions(tls, 'db');
    expect(options).not.toHaveProperty('rejectUnauthorized');
    expect(options).toHaveProperty('checkServerIdentity');
  },
);
