import type { LookupAddress } from 'node:dns';
import { afterEach, describe, expect, it } from 'vitest';
import { GroupsFetcher } from '../../dist/auth/groups-fetcher.js';
import { ProviderHttp } from '../../dist/auth/provider-http.js';
import type { ResolveAll } from '../../dist/outbound/name-resolution.js';
import { lookupFor } from '../../dist/outbound/private-address.js';
import { anIssuer } from '../support/issuer.js';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

const PUBLIC = '93.184.216.34';
const issuer = anIssuer().runs();

/** A resolver that returns the results in turn, then repeats the last one. */
function resolver(...answers: string[][]): ResolveAll {
  let asked = 0;
  return (_hostname, done) => {
    const addresses = answers[Math.min(asked++, answers.length - 1)] ?? [];
    done(
      null,
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
    );
  };
}

const found = (resolve: ResolveAll) =>
  new Promise<string[]>((done, fail) => {
    lookupFor('public', resolve)('idp.example', { all: true }, (error, addresses) => {
      if (error) fail(error);
      else done((addresses as LookupAddress[]).map(({ address }) => address));
    });
  });

describe('a provider at a private address', () => {
  const open: ProviderHttp[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((http) => http.close()));
  });

  const anHttp = (allowPrivateIP: boolean, resolve?: ResolveAll) => {
    const http = new ProviderHttp({ allowPrivateIP, ...(resolve ? { resolve } : {}) });
    open.push(http);
    return http;
  };

  it.each(['127.0.0.1', '127.1', '2130706433', '0x7f.0x0.0x0.0x1', '0177.0.0.1', 'localhost'])(
    'is refused as %s without allowPrivateIP, and accepted with it',
    async (host) => {
      const url = `http://${host}:${issuer.port}/jwks`;
      const asked = issuer.requests.length;
      await expect(anHttp(false).getJson(url)).rejects.toThrow(/private address/);
      await expect(anHttp(false).postForm(url, { token: 'x' })).rejects.toThrow(/private address/);
      expect(issuer.requests.length).toBe(asked);
      await expect(anHttp(true).getJson(url)).resolves.toHaveProperty('keys');
      expect(issuer.requests.length).toBe(asked + 1);
    },
  );

  it.each([
    '0.0.0.0',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[fe80::1]',
    '169.254.169.254',
  ])('is refused as %s', async (host) => {
    const asking = anHttp(false).getJson(`http://${host}:${issuer.port}/jwks`);
    await expect(asking).rejects.toThrow(/private address/);
  });

  it('is refused for a groups URL, and never receives the token', async () => {
    const groupsUrl = `http://localhost:${issuer.port}/groups`;
    const token = issuer.setUserinfo(issuer.sign(), { groups: ['g1'] });
    const asked = issuer.requests.length;
    const groupsBy = (allowPrivateIP: boolean) =>
      new GroupsFetcher(
        { issuerUrl: issuer.iss },
        { url: groupsUrl },
        anHttp(allowPrivateIP),
        false,
      ).groupsOf({
        token,
        subject: 'somebody',
        client: '192.0.2.1',
      });
    await expect(groupsBy(false)).rejects.toMatchObject({
      why: 'unavailable',
      message: expect.stringContaining('private address'),
    });
    expect(issuer.requests.length).toBe(asked);
    await expect(groupsBy(true)).resolves.toMatchObject({ groups: ['g1'] });
  });

  it('is refused when a name resolves to it, every time', async () => {
    const http = anHttp(false, resolver(['127.0.0.1']));
    const url = `http://idp.example:${issuer.port}/jwks`;
    const asked = issuer.requests.length;
    for (let again = 0; again < 3; again++)
      await expect(http.getJson(url)).rejects.toThrow(/idp\.example is at a private address/);
    expect(issuer.requests.length).toBe(asked);
  });
});

describe('the resolved addresses of a host name', () => {
  it.each([
    ['10.0.0.1'],
    ['10.255.255.255'],
    ['172.16.0.1'],
    ['172.31.255.255'],
    ['192.168.0.1'],
    ['127.0.0.1'],
    ['127.255.255.254'],
    ['169.254.169.254'],
    ['0.0.0.0'],
    ['100.64.0.1'],
    ['255.255.255.255'],
    ['::1'],
    ['::'],
    ['fc00::1'],
    ['fd12:3456:789a::1'],
    ['fe80::1'],
    ['febf::1'],
    ['::ffff:10.0.0.1'],
    ['::ffff:192.168.0.1'],
    ['64:ff9b::7f00:1'],
  ])('are refused when one of them is %s', async (address) => {
    await expect(found(resolver([address]))).rejects.toThrow(/private address/);
    await expect(found(resolver([PUBLIC, address]))).rejects.toThrow(/private address/);
    await expect(found(resolver([PUBLIC]))).resolves.toEqual([PUBLIC]);
  });

  it.each([
    '9.255.255.255',
    '11.0.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '2606:4700::1111',
  ])('are accepted when public: %s', async (address) => {
    await expect(found(resolver([address]))).resolves.toEqual([address]);
  });

  it('are checked at each connection, against DNS rebinding', async () => {
    const rebinding = resolver([PUBLIC], ['127.0.0.1']);
    await expect(found(rebinding)).resolves.toEqual([PUBLIC]);
    await expect(found(rebinding)).rejects.toThrow(/private address/);
  });

  it('are resolved once per connection, so that the checked address is the one used', async () => {
    let asked = 0;
    const counting: ResolveAll = (hostname, done) => {
      asked += 1;
      resolver([PUBLIC])(hostname, done);
    };
    await found(counting);
    expect(asked).toBe(1);
  });
});

describe('a provider without allowPrivateIP', () => {
  const service = aService({
    mode: 'auth-only',
    providers: () => [
      { name: 'closed', issuerUrl: `http://localhost:${issuer.port}`, audience: 'registry' },
      { name: 'open', issuerUrl: issuer.iss, audience: 'registry', allowPrivateIP: true },
    ],
  }).runs();

  it('is never contacted at a private address: 503, with the reason in the log', async () => {
    const token = issuer.sign({ iss: `http://localhost:${issuer.port}` });
    const asked = issuer.requests.length;
    const id = 'private-provider';
    const reply = await service.bearing(token).get('/v1/me', { 'X-Request-Id': id });
    expectRefused(reply, 503, 'provider_unavailable');
    expect(issuer.requests.length).toBe(asked);
    const lines = service.logs().filter((line) => JSON.stringify(line).includes(id));
    expect(JSON.stringify(lines)).toMatch(/closed.*private address/);
    expect((await service.bearing(issuer.sign()).get('/v1/me')).status).toBe(200);
  });
});
