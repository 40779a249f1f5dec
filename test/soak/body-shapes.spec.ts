import { describe, expect, it } from 'vitest';
import { outcomeOf } from '../support/answers.js';
import { ACME_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { aService } from '../support/service.js';

describe('a body of the maximum size', () => {
  const folder = aFolder();
  const file = { path: folder.catalogue('made', [aServer('io.acme/made')]) };
  const service = aService({ mode: 'full' })
    .source('tools', { claims: { org: 'acme' }, servers: [aServer('io.acme/a')] })
    .registry('tools', { sources: ['tools'], claims: { org: 'acme' } })
    .configuration({ adminFileRoot: folder.path })
    .runs();
  const names = Array.from({ length: 60_000 }, (_, index) => `s${index}`);
  const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;

  it.each([
    ['many sources', '/v1/registries/large', JSON.stringify({ sources: names }), '400 invalid_body'],
    [
      'many claims',
      '/v1/registries/large',
      JSON.stringify({ sources: ['tools'], claims: { team: names } }),
      '400 too_many_claims',
    ],
    [
      'many patterns',
      '/v1/sources/large',
      JSON.stringify({
        file,
        syncPolicy: { interval: '1h' },
        filter: { names: { include: names } },
        claims: { org: 'contoso' },
      }),
      '400 invalid_body',
    ],
    [
      'deep nesting',
      '/v1/registries/large',
      `{"sources":["tools"],"claims":${nested(100_000)}}`,
      '400 invalid_body',
    ],
  ])('takes hardly more CPU time than one long text: %s', async (_, path, body, answer) => {
    const cpuTimeOf = async (sent: string, expected: string) => {
      const before = process.cpuUsage();
      expect(outcomeOf(await service.as(ACME_ADMIN).put(path, sent))).toBe(expected);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const text = JSON.stringify({ sources: 'x'.repeat(body.length) });
    /** Returns the least of several measurements, because one may also collect the garbage of others. */
    const leastOf = async (sent: string, expected: string) => {
      let least = Infinity;
      for (let times = 0; times < 4; times += 1) least = Math.min(least, await cpuTimeOf(sent, expected));
      return least;
    };
    const usual = await leastOf(text, '400 invalid_body');
    expect(await leastOf(body, answer)).toBeLessThan(30 * usual);
  });
});
