import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { aServer } from '../support/documents.js';
import { pauseInSeconds, versionsIn } from '../support/matchers.js';
import { keepSecret } from '../support/secrets.js';
import { aService, type ServiceUnderTest } from '../support/service.js';
import { anUpstreamRegistry, type UpstreamRegistry } from '../support/upstream-registry.js';

const TOKEN = keepSecret('a-very-secret-upstream-token');
const upstream = anUpstreamRegistry().runs();
/** Each is read by a source of its own, since retries wait. */
const retried = {
  broken: anUpstreamRegistry().runs(),
  closed: anUpstreamRegistry().runs(),
  brief: anUpstreamRegistry().runs(),
  later: anUpstreamRegistry().runs(),
};
const elsewhere = anUpstreamRegistry().runs();
const slow = anUpstreamRegistry().runs();

const list = async (service: ServiceUnderTest, registry = 'main') =>
  versionsIn(await service.get(`/registry/${registry}/v0.1/servers?limit=100`));

describe('a failing upstream registry', () => {
  const mirror = aService();
  let folder: string;
  const tokenFile = () => join(folder, 'token');
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'registry-token-'));
    await writeFile(tokenFile(), `${TOKEN}\n`);
    const settings = { endpoint: upstream.url, tokenFile: tokenFile() };
    mirror
      .source('main', { kind: 'api', settings })
      .source('impatient', { kind: 'api', settings: { endpoint: slow.url, timeout: '1s' } });
    slow.put([aServer('io.acme/stays')]);
    for (const [name, one] of Object.entries(retried)) {
      one.put([aServer('io.acme/stays')]);
      mirror
        .source(name, { kind: 'api', settings: { endpoint: one.url } })
        .registry(name, { sources: [name] });
    }
  });
  afterAll(() => rm(folder, { recursive: true }));
  mirror
    .registry('main', { sources: ['main'] })
    .registry('impatient', { sources: ['impatient'] })
    .runs();

  describe.concurrent('when a page fails', () => {
    /** An upstream registry with two pages; the second will fail this way in the next sync. */
    const failing = async (name: keyof typeof retried, how: Parameters<UpstreamRegistry['fails']>[1]) => {
      const { [name]: one } = retried;
      while ((await mirror.synced(name)).status !== 'complete');
      await mirror.database.query(
        `update source_sync y set fetch_state = null from source s where s.id = y.source_id and s.name = $1`,
        [name],
      );
      one
        .put(Array.from({ length: 150 }, (_, index) => aServer(`io.acme/s${index}`)))
        .fails(2, how)
        .pages();
      return one;
    };

    it('changes nothing after three more attempts at that page, and is retried', async () => {
      const one = await failing('broken', 'error');
      const report = await mirror.synced('broken');
      expect(report).toMatchObject({ status: 'failed', attempts: 1 });
      expect(report.error).toMatch(/\/v0\.1\/servers: the response has status 500/);
      expect(await list(mirror, 'broken')).toEqual(['io.acme/stays@1.0.0']);
      // No earlier page is read again.
      expect(one.pages()).toHaveLength(5);
      one.recovers();
      expect(await mirror.synced('broken')).toMatchObject({ status: 'complete', counts: { entries: 151 } });
    });

    it('keeps the earlier entries when its connection closes each time', async () => {
      const one = await failing('closed', 'down');
      const { status, error } = await mirror.synced('closed');
      expect({ status, error }).toEqual({
        status: 'failed',
        error: expect.stringContaining('/v0.1/servers: '),
      });
      expect(await list(mirror, 'closed')).toEqual(['io.acme/stays@1.0.0']);
      expect(one.pages()).toHaveLength(5);
    });

    it('is queried again in the same run', async () => {
      const one = await failing('brief', { status: 503, times: 2 });
      expect(await mirror.synced('brief')).toMatchObject({ status: 'complete', counts: { entries: 151 } });
      expect(one.pages()).toHaveLength(4);
    });

    it('is queried again after its Retry-After', async () => {
      const one = await failing('later', { status: 429, headers: { 'Retry-After': '2' }, times: 1 });
      expect(await mirror.synced('later')).toMatchObject({ status: 'complete', counts: { entries: 151 } });
      const [, first, second] = one.pages();
      expect(Number(second?.at) - Number(first?.at)).toBeGreaterThanOrEqual(1_990);
    });
  });

  describe('with another failure', () => {
    const everythingNext = () => mirror.database.query(`update source_sync set fetch_state = null`);
    beforeEach(async () => {
      upstream.reset().put([aServer('io.acme/stays')]);
      elsewhere.reset();
      await everythingNext();
      // Most tests leave the entries as they were.
      if (String(await list(mirror)) !== 'io.acme/stays@1.0.0') await mirror.synced('main');
      await everythingNext();
      upstream.pages();
    });

    it('delays a run by at most a minute', async () => {
      upstream.fails(1, { status: 429, headers: { 'Retry-After': '3600' } });
      expect((await mirror.synced('main')).error).toMatch(/requests a delay of 3600 s/);
      expect(upstream.pages()).toHaveLength(1);
      expect(await pauseInSeconds(mirror)).toBeGreaterThanOrEqual(3_600);
    });

    it('is not contacted before its Retry-After, even when the run gives up on the page', async () => {
      upstream.fails(1, { status: 403, headers: { 'Retry-After': '600' } });
      expect((await mirror.synced('main')).error).toMatch(/status 403/);
      expect(await pauseInSeconds(mirror)).toBeGreaterThanOrEqual(600);
    });

    it.each([
      ['an HTML page', 'html', /not a page of an MCP registry: .*malformed/],
      ['truncated JSON', 'garbage', /not a page of an MCP registry: .*closed/],
      [
        'a different document',
        { answer: { entries: [] } },
        /not a page of an MCP registry: .*list "servers"/,
      ],
      ['an array', { answer: [] }, /not a page of an MCP registry/],
      ['an empty list', { answer: { servers: null } }, /The registry has no entries/],
      [
        'no valid entry',
        { answer: { servers: [{ server: {} }] } },
        /None of the 1 entries is valid; .*servers\[0\]/,
      ],
      ['an invalid cursor', { answer: { servers: [], metadata: { nextCursor: 5 } } }, /not a cursor/],
      ['a 401', { status: 401 }, /status 401: .*token/],
      ['a 403', { status: 403 }, /status 403/],
      ['a 404', { status: 404 }, /status 404: .*base/],
      ['a redirect loop', { redirect: '/v0.1/servers' }, /redirects more than five times/],
    ] as const)('keeps the earlier entries and reports the reason: %s', async (_what, how, why) => {
      upstream.fails(1, how);
      const report = await mirror.synced('main');
      expect(report.status).toBe('failed');
      expect(report.error).toMatch(why);
      expect(await list(mirror)).toEqual(['io.acme/stays@1.0.0']);
    });

    it.each([
      ['one byte at a time', 'drip'],
      ['nothing', 'hang'],
    ] as const)('keeps the earlier entries and reports its timeout: %s', async (_what, how) => {
      slow.recovers();
      while ((await mirror.synced('impatient')).status !== 'complete');
      slow.fails(1, how);
      const report = await mirror.synced('impatient');
      expect(report.status).toBe('failed');
      expect(report.error).toMatch(/no complete response within 1 s/);
      expect(await list(mirror, 'impatient')).toEqual(['io.acme/stays@1.0.0']);
    });

    it.each([
      ['same-cursor', /is the same as an earlier one/],
      ['new-cursors', /does not end/],
    ] as const)('is abandoned when its pages never end: %s', async (endless, why) => {
      upstream.habits = { endless };
      expect((await mirror.synced('main')).error).toMatch(why);
      expect(await list(mirror)).toEqual(['io.acme/stays@1.0.0']);
    });

    it('may redirect to another origin, which does not get the token', async () => {
      elsewhere.put([aServer('io.acme/moved')]);
      upstream.fails(1, { redirect: `${elsewhere.url}/v0.1/servers` });
      expect(await mirror.synced('main')).toMatchObject({ status: 'complete' });
      expect(await list(mirror)).toEqual(['io.acme/moved@1.0.0']);
      expect(upstream.pages()[0]?.authorization).toBe(`Bearer ${TOKEN}`);
      expect(elsewhere.pages().map(({ authorization }) => authorization)).toEqual([undefined]);
    });

    it('gets the current token from the file; a missing token is reported', async () => {
      const second = keepSecret('another-very-secret-token');
      await writeFile(tokenFile(), second);
      await mirror.synced('main');
      expect(upstream.pages()[0]?.authorization).toBe(`Bearer ${second}`);
      await writeFile(tokenFile(), 'two words of a secret');
      expect((await mirror.synced('main')).error).toMatch(/api\.tokenFile does not contain a bearer token$/);
      await rm(tokenFile());
      expect((await mirror.synced('main')).error).toMatch(
        /^api\.tokenFile could not be opened: there is no such file/,
      );
      expect(upstream.pages()).toEqual([]);
      await writeFile(tokenFile(), TOKEN);
    });
  });
});
