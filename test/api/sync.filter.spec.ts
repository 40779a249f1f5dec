import { describe, expect, it } from 'vitest';
import { aServer, aSkill } from '../support/documents.js';
import { versionsIn } from '../support/matchers.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

const list = async (service: ServiceUnderTest, registry: string) =>
  versionsIn(await service.get(`/registry/${registry}/v0.1/servers?limit=100`));

describe('a source with a filter', () => {
  const tagged = (name: string, ...tags: string[]) =>
    aServer(name, '1.0.0', {
      _meta: {
        'io.modelcontextprotocol.registry/publisher-provided': { 'io.acme': { 'image:1': { tags } } },
      },
    });
  const servers = [
    tagged('io.acme/a', 'data', 'beta'),
    tagged('io.acme/b', 'data'),
    tagged('com.other/c', 'data'),
    tagged('io.acme/d'),
  ];
  const service = aService()
    .source('names', { servers, filter: { names: { include: ['io.acme/*'], exclude: ['*/b'] } } })
    .source('tags', { servers, filter: { tags: { include: ['da?a'], exclude: ['beta'] } } })
    .source('nothing', { servers, filter: { names: { include: ['io.acme'] } } })
    .registry('names', { sources: ['names'] })
    .registry('tags', { sources: ['tags'] })
    .registry('nothing', { sources: ['nothing'] })
    .runs();

  it.each([
    ['names', ['io.acme/a@1.0.0', 'io.acme/d@1.0.0']],
    ['tags', ['com.other/c@1.0.0', 'io.acme/b@1.0.0']],
    ['nothing', []],
  ])('applies %s, with exclude winning', async (registry, expected) => {
    expect(await list(service, registry)).toEqual(expected);
    expect((await service.synced(registry)).status).toBe('complete');
  });
});

describe('a source with a filter and invalid entries', () => {
  const bad = (name: string, tags: string[]) => ({
    ...aServer(name, '^1'),
    _meta: { 'io.modelcontextprotocol.registry/publisher-provided': { a: { b: { tags } } } },
  });
  const filter = { names: { include: ['io.acme/*', 'io.skills/*'] }, tags: { exclude: ['beta'] } };
  const servers = [
    aServer('io.acme/good'),
    bad('io.acme/bad', []),
    bad('io.acme/beta', ['beta']),
    bad('com.other/bad', []),
    aServer('com.other/good'),
    aServer('com.other/good'),
    { description: 'an entry without a name' },
  ];
  const skills = [aSkill('com.skills/bad', '^1'), aSkill('io.skills/bad', '^1')];
  const service = aService()
    .source('main', { servers, skills, filter })
    .source('nothing', { servers: [bad('com.other/bad', [])], filter })
    .registry('main', { sources: ['main', 'nothing'] })
    .runs();

  it('reports only entries the filter would have admitted', async () => {
    const report = await service.synced('main');
    expect(report.skipped.map(({ name }) => name)).toEqual(['io.acme/bad', null, 'bad']);
    expect(report.counts).toMatchObject({ entries: 1, skipped: 3, filtered: 5 });
  });

  it('reports nothing when the filter excludes them all', async () => {
    expect(await service.synced('nothing')).toMatchObject({ status: 'complete', skipped: [] });
  });
});
