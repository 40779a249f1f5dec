import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { call } from '../support/http.js';
import { expectRefused } from '../support/matchers.js';
import { aKey } from '../support/registry-keys.js';
import { aService } from '../support/service.js';

const HTML = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

const aDesk = () =>
  aService()
    .source('main', { servers: [aServer('io.acme/a')] })
    .registry('main', { sources: ['main'] });

/** The files the HTML refers to, by relative path. */
const namedIn = (html: string) => [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path ?? '');

describe('the web UI at /', () => {
  const service = aDesk().runs();
  const page = () => service.get('/', HTML);

  it('is served for Accept: text/html and revalidated each time', async () => {
    const reply = await page();
    expect({ status: reply.status, headers: reply.headers }).toMatchObject({
      status: 200,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-cache',
        vary: 'Accept, Accept-Encoding',
      },
    });
    const again = await service.get('/', { ...HTML, 'If-None-Match': String(reply.headers['etag']) });
    expect({ status: again.status, text: again.text }).toEqual({ status: 304, text: '' });
  });

  it.each(['application/json', '*/*', undefined])('is not served for Accept: %s', async (accept) => {
    expectRefused(
      await service.get('/', accept === undefined ? {} : { Accept: accept }),
      404,
      'route_not_found',
    );
  });

  it('has no inline script or style and refers to its files by relative path', async () => {
    const { text } = await page();
    expect(text).not.toMatch(/<style|style=|<script(?![^>]*\bsrc=)|\son\w+=|javascript:|data:/i);
    const named = namedIn(text);
    expect(named.length).toBeGreaterThanOrEqual(3);
    for (const path of named) {
      expect(path).toMatch(/^\.\/assets\/[\w.-]+-[\w-]{8}\.(js|css|svg)$/);
      const reply = await service.get(path.slice(1));
      expect({ path, status: reply.status, cache: reply.headers['cache-control'] }).toEqual({
        path,
        status: 200,
        cache: 'public, max-age=31536000, immutable',
      });
    }
  });

  it('loads small, compressed files', async () => {
    const scripts = namedIn((await page()).text).filter((path) => path.endsWith('.js'));
    const bytes = { whole: 0, br: 0, gzip: 0 };
    for (const path of scripts) {
      const whole = await service.get(path.slice(1));
      bytes.whole += whole.bytes.length;
      for (const coding of ['br', 'gzip'] as const) {
        const reply = await call(service.origin + path.slice(1), { headers: { 'Accept-Encoding': coding } });
        expect(reply.headers).toMatchObject({
          'content-encoding': coding,
          'content-type': 'text/javascript; charset=utf-8',
          etag: whole.headers['etag'],
        });
        bytes[coding] += Number(reply.headers['content-length']);
      }
    }
    expect(Math.max(bytes.br, bytes.gzip)).toBeLessThan(bytes.whole / 2);
  });

  it('loads at most 60 KB of script first, compressed', async () => {
    const scripts = namedIn((await page()).text).filter((path) => path.endsWith('.js'));
    const seen = new Set(scripts);
    let bytes = 0;
    // Static imports of the first scripts are also loaded.
    for (const path of seen) {
      const { text } = await service.get(path.slice(1));
      for (const [, file] of text.matchAll(/(?:import|from)\s*["']\.\/([\w.-]+\.js)["']/g))
        seen.add(`./assets/${file ?? ''}`);
      const sent = await call(service.origin + path.slice(1), { headers: { 'Accept-Encoding': 'gzip' } });
      bytes += Number(sent.headers['content-length']);
    }
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThanOrEqual(60_000);
  });

  it('has a CSP that allows only its own files, no framing, and no referrer', async () => {
    const reply = await page();
    const policy = String(reply.headers['content-security-policy']).split(';');
    expect(policy).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' blob:",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]);
    expect(reply.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    });
  });

  it.each([
    '/assets/none.js',
    '/assets/',
    '/assets',
    '/assets/..%2Findex.html',
    '/index.html',
    '/catalogue',
    '/v1',
    '/v1/none',
  ])('is 404 in JSON at any other path: %s', async (path) => {
    expectRefused(await service.get(path, HTML), 404, 'route_not_found');
  });

  it.each([
    ['/registry/main', '../#/catalogue/main'],
    ['/registry/main/', '../../#/catalogue/main'],
    // The result is the same for unknown registries.
    ['/registry/a%2F..%22%3C?x=/', '../#/catalogue/a%2F..%22%3C'],
  ])('shows the registry of a base URL in a browser: %s', async (path, location) => {
    const reply = await service.get(path, HTML);
    expect({ status: reply.status, headers: reply.headers }).toMatchObject({
      status: 302,
      headers: { location, 'cache-control': 'no-cache', vary: expect.stringContaining('Accept') as string },
    });
    expectRefused(await service.get(path, { Accept: 'application/json, */*' }), 404, 'route_not_found');
  });

  it('supports GET and HEAD only', async () => {
    expectRefused(await service.send('POST', '/', { headers: HTML, body: {} }), 405, 'method_not_allowed');
    const head = await service.send('HEAD', '/', { headers: HTML });
    expect({ status: head.status, text: head.text }).toEqual({ status: 200, text: '' });
  });

  it('reports that no login is required', async () => {
    const reply = await service.get('/config.json');
    expect(reply.headers['cache-control']).toBe('private, no-cache');
    expect(reply.json).toEqual({
      mode: 'anonymous',
      checksClaims: false,
      logins: [],
      hasIcons: false,
      title: 'Registry',
      hasLogo: false,
    });
    expectRefused(await service.get('/logo'), 404, 'route_not_found');
  });
});

const LOGO = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
const logo = join(mkdtempSync(join(tmpdir(), 'registry-logo-')), 'logo.svg');
writeFileSync(logo, LOGO);

const KEY = aKey();
const files = aFolder();

describe('the web UI of a server in oauth mode', () => {
  const service = aService({ mode: 'full' })
    .source('main', { servers: [aServer('io.acme/a')] })
    .registry('main', {
      sources: ['main'],
      keys: [{ name: 'reader', secretFile: files.write('key', KEY), claims: {} }],
    })
    .configuration({
      web: {
        logins: [{ provider: 'corporate', clientId: 'page', parameters: { audience: 'api' } }],
        iconOrigins: ['https://icons.example'],
        title: 'Acme tools',
        logo,
        accent: '#7a1f5c',
      },
    })
    .runs();

  it('requires no token and ignores any that is sent', async () => {
    for (const headers of [HTML, { ...HTML, Authorization: 'Bearer none' }])
      for (const path of ['/', '/config.json']) expect((await service.get(path, headers)).status).toBe(200);
    expectRefused(await service.get('/registry', HTML), 401, 'token_missing');
  });

  it('does not show a page for a base URL with a key', async () => {
    expect((await service.get('/registry/main', HTML)).status).toBe(302);
    for (const key of [KEY, aKey()])
      expect((await service.get(`/registry/main/k/${key}`, HTML)).status).toBe(404);
    expect((await service.get(`/registry/main/k/${KEY}/v0.1/servers`, HTML)).status).toBe(200);
  });

  it('gets the login settings without secrets', async () => {
    expect((await service.get('/config.json')).json).toEqual({
      mode: 'oauth',
      checksClaims: true,
      logins: [
        {
          provider: 'corporate',
          issuer: service.issuer.url,
          clientId: 'page',
          scopes: ['openid'],
          optionalScopes: ['mcp-registry:read', 'mcp-registry:write'],
          parameters: { audience: 'api' },
        },
      ],
      hasIcons: true,
      title: 'Acme tools',
      hasLogo: true,
      accent: '#7a1f5c',
    });
  });

  it('shows its own logo, which runs nothing when opened as a page', async () => {
    const reply = await service.get('/logo');
    expect({ status: reply.status, text: reply.text, headers: reply.headers }).toMatchObject({
      status: 200,
      text: LOGO,
      headers: {
        'content-type': 'image/svg+xml',
        'content-security-policy': "default-src 'none';style-src 'unsafe-inline';sandbox",
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-cache',
      },
    });
  });

  it('may connect to the identity provider, and loads no images from elsewhere', async () => {
    const policy = String((await service.get('/', HTML)).headers['content-security-policy']);
    expect(policy).toContain(`connect-src 'self' ${new URL(service.issuer.url).origin};`);
    expect(policy).toContain("img-src 'self' blob:;");
  });
});

describe('a server without the web UI', () => {
  const service = aDesk()
    .configuration({ web: { enabled: false } })
    .runs();

  it.each(['GET /', 'POST /', 'GET /config.json', 'GET /assets/none.js', 'GET /registry/main'])(
    'returns 404 at %s',
    async (route) => {
      const [method = '', path = ''] = route.split(' ');
      expectRefused(await service.send(method, path, { headers: HTML }), 404, 'route_not_found');
    },
  );

  it('still serves its API', async () => {
    expect((await service.get('/registry')).status).toBe(200);
  });
});
