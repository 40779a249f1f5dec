import { describe, expect, it } from 'vitest';
import { anIssuer } from '../support/issuer.js';
import { expectChallenge } from '../support/matchers.js';
import { sendRaw } from '../support/raw.js';
import { aService } from '../support/service.js';

const service = aService({ mode: 'auth-only' }).runs();
const { issuer } = service;

type Sent = Record<string, string | string[]>;
type Case = [what: string, headers: (token: string) => Sent];

const me = (headers: Sent) => service.get('/v1/me', headers);

describe('a token in the Authorization header', () => {
  it.each<Case>([
    ['after Bearer', (token) => ({ Authorization: `Bearer ${token}` })],
    ['after bearer', (token) => ({ Authorization: `bearer ${token}` })],
    ['after BEARER', (token) => ({ Authorization: `BEARER ${token}` })],
    ['after two spaces', (token) => ({ Authorization: `Bearer  ${token}` })],
    ['in a header written in lower case', (token) => ({ authorization: `Bearer ${token}` })],
    ['next to a cookie', (token) => ({ Authorization: `Bearer ${token}`, Cookie: 'access_token=x' })],
  ])('%s is accepted', async (_what, headers) => {
    expect((await me(headers(issuer.sign()))).status).toBe(200);
  });

  it.each<Case>([
    ['in two equal headers', (token) => ({ Authorization: [`Bearer ${token}`, `Bearer ${token}`] })],
    ['before a second, empty header', (token) => ({ Authorization: [`Bearer ${token}`, 'Bearer'] })],
    ['before a header of another scheme', (token) => ({ Authorization: [`Bearer ${token}`, 'Basic eDp5'] })],
    ['after a header of another scheme', (token) => ({ Authorization: ['Basic eDp5', `Bearer ${token}`] })],
    ['twice in one header', (token) => ({ Authorization: `Bearer ${token}, Bearer ${token}` })],
    ['twice after one Bearer', (token) => ({ Authorization: `Bearer ${token} ${token}` })],
    ['after a second Bearer', (token) => ({ Authorization: `Bearer Bearer ${token}` })],
    ['in quotes', (token) => ({ Authorization: `Bearer "${token}"` })],
    ['in angle brackets', (token) => ({ Authorization: `Bearer <${token}>` })],
    ['after a name', (token) => ({ Authorization: `Bearer token=${token}` })],
    ['with a space in it', (token) => ({ Authorization: `Bearer ${token.replace('.', '. ')}` })],
    ['with a percent-encoded dot', (token) => ({ Authorization: `Bearer ${token.replace('.', '%2E')}` })],
    ['with a letter beyond ASCII', (token) => ({ Authorization: `Bearer ${token}é` })],
    ['with a padding', (token) => ({ Authorization: `Bearer ${token}==` })],
    ['in standard base64', (token) => ({ Authorization: `Bearer ${otherAlphabet(token)}` })],
    ['encoded twice', (token) => ({ Authorization: `Bearer ${Buffer.from(token).toString('base64')}` })],
    ['of one segment', (token) => ({ Authorization: `Bearer ${token.replaceAll('.', '')}` })],
    ['of two segments', (token) => ({ Authorization: `Bearer ${token.replace(/\.[^.]*$/, '')}` })],
    ['of four segments', (token) => ({ Authorization: `Bearer ${token}.e30` })],
    ['of five segments, like a JWE', (token) => ({ Authorization: `Bearer ${token}.e30.e30` })],
    ['with a trailing dot', (token) => ({ Authorization: `Bearer ${token}.` })],
    ['with a leading dot', (token) => ({ Authorization: `Bearer .${token}` })],
    ['of dots', () => ({ Authorization: 'Bearer ..' })],
    ['with an empty header', (token) => ({ Authorization: `Bearer ${token.replace(/^[^.]*/, '')}` })],
    ['with an empty payload', (token) => ({ Authorization: `Bearer ${token.replace(/\.[^.]*/, '.')}` })],
    ['that is opaque, without introspection', () => ({ Authorization: 'Bearer 2YotnFZFEjr1zCsicMWpAA' })],
    ['that is a word', () => ({ Authorization: 'Bearer undefined' })],
  ])('%s is refused', async (_what, headers) => {
    const token = issuer.sign();
    expect((await me({ Authorization: `Bearer ${token}` })).status).toBe(200);
    expectChallenge(await me(headers(token)), { error: 'invalid_token' });
  });

  it.each([10, 12])('may be %i kB long', async (kilobytes) => {
    const token = issuer.sign({ groups: 'g'.repeat(kilobytes * 750) });
    expect(token.length).toBeGreaterThan(kilobytes * 1000);
    expect((await me({ Authorization: `Bearer ${token}` })).status).toBe(200);
  });

  it.each([20, 100, 1000])('is refused with 431 when it is %i kB long', async (kilobytes) => {
    const token = issuer.sign({ groups: 'g'.repeat(kilobytes * 750) });
    const request = `GET /v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`;
    expect(await sendRaw(service.port, request)).toMatch(/^HTTP\/1\.1 431 /);
    expect((await me({ Authorization: `Bearer ${issuer.sign()}` })).status).toBe(200);
  });
});

describe('a request without a bearer token', () => {
  it.each<Case>([
    ['has no header', () => ({})],
    ['has Basic credentials', () => ({ Authorization: 'Basic c29tZWJvZHk6c2VjcmV0' })],
    [
      'has the token as a password',
      (token) => ({ Authorization: `Basic ${Buffer.from(`x:${token}`).toString('base64')}` }),
    ],
    ['has it without a scheme', (token) => ({ Authorization: token })],
    ['has it after Token', (token) => ({ Authorization: `Token ${token}` })],
    ['has it after DPoP', (token) => ({ Authorization: `DPoP ${token}` })],
    ['has it after Bearers', (token) => ({ Authorization: `Bearers ${token}` })],
    ['has it right after Bearer', (token) => ({ Authorization: `Bearer${token}` })],
    ['has it in Proxy-Authorization', (token) => ({ 'Proxy-Authorization': `Bearer ${token}` })],
    ['has it in X-Authorization', (token) => ({ 'X-Authorization': `Bearer ${token}` })],
    ['has it in X-Forwarded-Access-Token', (token) => ({ 'X-Forwarded-Access-Token': token })],
    ['has it in a cookie', (token) => ({ Cookie: `access_token=${token}; Authorization=Bearer ${token}` })],
  ])('gets the challenge when it %s', async (_what, headers) => {
    expectChallenge(await me(headers(issuer.sign())));
  });

  it.each(['access_token', 'token', 'Authorization', 'authorization', 'bearer_token'])(
    'gets the challenge when it has the token as %s in the query',
    async (name) => {
      const token = issuer.sign();
      expectChallenge(await service.get(`/v1/me?${name}=${token}`));
      expectChallenge(await service.get(`/v1/me?${name}=Bearer%20${token}`));
      expect((await service.bearing(token).get(`/v1/me?${name}=x`)).status).toBe(200);
    },
  );

  it('gets the challenge when it has the token in a form', async () => {
    const form = `access_token=${issuer.sign()}`;
    const headers = {
      'Content-Type': 'application/x-www-form-urlencoded',
      'Content-Length': String(form.length),
    };
    expectChallenge(await service.send('GET', '/v1/me', { body: form, headers }));
  });

  it('gets the challenge even for HEAD', async () => {
    const head = await service.send('HEAD', '/v1/me');
    expect(head.status).toBe(401);
    expect(head.headers['www-authenticate']).toMatch(/^Bearer realm=/);
  });
});

describe('a token of an unknown issuer', () => {
  const stranger = anIssuer().runs();

  it('is refused without contacting that issuer', async () => {
    const token = stranger.sign({ iss: stranger.iss });
    expectChallenge(await service.bearing(token).get('/v1/me'), { error: 'invalid_token' });
    expect(stranger.requests).toEqual([]);
  });
});

// A token is the same in both alphabets unless it contains `-` or `_`.
function otherAlphabet(token: string): string {
  for (let next = token; ; next = issuer.sign({ n: Math.random() })) {
    const other = next.replaceAll('-', '+').replaceAll('_', '/');
    if (other !== next) return other;
  }
}
