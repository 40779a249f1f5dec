import { beforeAll, describe, expect, it } from 'vitest';
import { SUPER_ADMIN } from '../support/callers.js';
import { fillPartitions } from '../support/partitions.js';
import { largestShareOfOneTurn } from '../support/event-loop.js';
import { versionsIn } from '../support/matchers.js';
import { aName, listAt, publish } from '../support/publishing.js';
import { aService } from '../support/service.js';

describe('a registry with very many partitions', () => {
  const sources = ['one', 'two', 'three', 'four', 'five'];
  let declared = aService({ mode: 'full', policy: { arrayValues: 'any' } }).source('published', {
    kind: 'managed',
  });
  for (const name of sources) declared = declared.source(name, { servers: [] });
  const service = declared.registry('main', { sources: ['published', ...sources] }).runs();
  beforeAll(() => fillPartitions(service, sources, 20_000));

  it.each([
    { who: 'a caller who sees all of them', caller: { team: 'all' } },
    { who: 'a caller who sees one', caller: { team: 't77' } },
  ])('is read after a change without blocking the event loop: $who', async ({ caller }) => {
    const name = aName();
    await publish(service.as(SUPER_ADMIN), 'server', name, caller);
    await service.as(caller).get(listAt('server'));
    const second = aName('a.acme');
    await publish(service.as(SUPER_ADMIN), 'server', second, { team: [`new ${second}`, caller.team] });
    let versions: string[] = [];
    const share = await largestShareOfOneTurn(async () => {
      versions = versionsIn(await service.as(caller).get(listAt('server')));
    });
    expect(versions[0]).toBe(`${second}@1.0.0`);
    expect(share).toBeLessThan(0.7);
  });
});
