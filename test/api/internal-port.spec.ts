import { describe, expect, it } from 'vitest';
import { call } from '../support/http.js';
import { sendRaw } from '../support/raw.js';
import { aService } from '../support/service.js';

const PATHS = ['/health', '/readiness', '/metrics', '/version', '/nowhere'];

/** reference/access: DNS rebinding makes a foreign page same-origin, under a name of its own. */
describe('the internal port, reached through a loopback address', () => {
  const service = aService().runs();
  const ask = (path: string, Host: string) => call(service.internalOrigin + path, { headers: { Host } });

  it.each([
    'localhost',
    'LOCALHOST:8081',
    '127.0.0.1:1',
    '[::1]:8081',
    '10.1.2.3:8081',
    '[fd00::1]',
    '0.0.0.0',
  ])('accepts Host: %s', async (host) => {
    // Readiness may fail briefly if the database responds late on a slow machine.
    for (const path of PATHS)
      await expect
        .poll(async () => (await ask(path, host)).status, { message: path })
        .toBe(path === '/nowhere' ? 404 : 200);
  });

  it.each([
    'evil.example',
    'evil.example:8081',
    'registry',
    '127.0.0.1.evil.example',
    'localhost.evil.example:8081',
    'localhost@evil.example',
    'evil.example, localhost',
    '1.2.3',
  ])('returns 400 host_refused for Host: %s', async (host) => {
    for (const path of PATHS) {
      const reply = await ask(path, host);
      expect(reply).toMatchObject({ status: 400, json: { code: 'host_refused' } });
      expect(reply.text).not.toContain('registry_');
    }
  });

  it('prefers the host of an absolute request target, and accepts probes without a Host', async () => {
    const port = Number(new URL(service.internalOrigin).port);
    const send = (target: string, headers: string) =>
      sendRaw(port, `GET ${target} HTTP/1.${headers === '' ? 0 : 1}\r\nConnection: close\r\n${headers}\r\n`);
    expect(await send('http://evil.example/metrics', 'Host: localhost\r\n')).toContain('host_refused');
    expect(await send('http://localhost/health', 'Host: evil.example\r\n')).not.toContain('host_refused');
    expect(await send('/health', '')).toContain('200 OK');
  });
});
