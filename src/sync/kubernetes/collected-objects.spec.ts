import { describe, expect, it } from 'vitest';
import {
  collectObjects,
  type KnownObjects,
  type ReadObject,
  type RetainedEntry,
} from './collected-objects.js';
import { type Resource, RESOURCES } from './custom-resources.js';
import { readObject } from './exported-object.js';

const [SERVER, VIRTUAL, PROXY] = RESOURCES as [Resource, Resource, Resource];
type Found = 'entry' | 'skipped' | 'filtered' | 'retained';

/** The objects of a kind by name, with their outcomes and claims. */
function known(resource: Resource, found: Record<string, Found>, team = 'a'): KnownObjects {
  const objects = new Map<string, ReadObject | RetainedEntry>();
  for (const [name, outcome] of Object.entries(found))
    if (outcome === 'filtered') objects.set(name, { outcome });
    else if (outcome === 'retained') objects.set(name, { outcome, claims: { team } });
    else objects.set(name, read(resource, name, outcome, team));
  return { resource, objects };
}

function read(resource: Resource, name: string, outcome: 'entry' | 'skipped', team: string) {
  const annotations = {
    'toolhive.stacklok.dev/registry-export': 'true',
    'toolhive.stacklok.dev/registry-url': outcome === 'entry' ? 'https://mcp.example.com' : 'nowhere',
    'toolhive.stacklok.dev/registry-description': 'A server',
    'toolhive.stacklok.dev/authz-claims': JSON.stringify({ team }),
  };
  const object = readObject(resource, { metadata: { namespace: 'n', name, annotations } });
  if (object?.outcome !== outcome) throw new Error(`Not ${outcome}: ${JSON.stringify(object)}`);
  return object;
}

async function collect(
  all: KnownObjects[],
  { mustWrite, limit = 10 }: { mustWrite?: (name: string) => boolean; limit?: number } = {},
) {
  const { entries, counts, skipped, retained, displaced, beyondLimit } = await collectObjects(
    all,
    mustWrite ?? (() => true),
    limit,
  );
  return {
    written: entries.map(({ version }) => version.name.replace('com.toolhive.k8s.n/', '')),
    counted: counts.entries,
    skipped: skipped.map(({ reasons }) => reasons.join()),
    retained: [...retained],
    displaced: [...displaced],
    beyondLimit: [...beyondLimit],
  };
}

const NOTHING = { written: [], counted: 0, skipped: [], retained: [], displaced: [], beyondLimit: [] };

describe('objects with the same name', () => {
  it.each<[string, KnownObjects[], object]>([
    ['none: no entry', [], {}],
    ['one: an entry', [known(SERVER, { a: 'entry' })], { written: ['a'], counted: 1 }],
    [
      'of two kinds: the first kind wins',
      [known(SERVER, { a: 'entry' }), known(VIRTUAL, { a: 'entry' })],
      {
        written: ['a'],
        counted: 1,
        skipped: ['VirtualMCPServer a: the MCPServer with the same namespace and name takes precedence'],
      },
    ],
    [
      'skipped and filtered ones: the valid object wins',
      [known(SERVER, { a: 'skipped' }), known(VIRTUAL, { a: 'filtered' }), known(PROXY, { a: 'entry' })],
      { written: ['a'], counted: 1, skipped: [expect.stringContaining('MCPServer n/a: the annotation')] },
    ],
    [
      'retained and listed: the retained entry of an earlier kind wins',
      [known(SERVER, { a: 'retained' }), known(VIRTUAL, { a: 'entry' })],
      {
        counted: 1,
        retained: ['a'],
        skipped: ['VirtualMCPServer a: the MCPServer with the same namespace and name takes precedence'],
      },
    ],
    [
      'listed and retained: an earlier kind replaces the retained entry',
      [known(SERVER, { a: 'entry' }), known(VIRTUAL, { a: 'retained' })],
      { written: ['a'], counted: 1, displaced: ['a'] },
    ],
    [
      'skipped and retained: the retained entry stays',
      [known(SERVER, { a: 'skipped' }), known(VIRTUAL, { a: 'retained' })],
      { counted: 1, retained: ['a'], skipped: [expect.stringContaining('MCPServer n/a: the annotation')] },
    ],
  ])('%s', async (_situation, all, expected) =>
    expect(await collect(all)).toEqual({ ...NOTHING, ...expected }),
  );
});

it('counts objects that need not be written', async () => {
  const all = [known(SERVER, { a: 'entry', b: 'entry' })];
  expect(await collect(all, { mustWrite: (name) => name === 'b' })).toEqual({
    ...NOTHING,
    written: ['b'],
    counted: 2,
  });
});

describe('the claim set limit', () => {
  it('accepts claim sets in the order of their objects', async () => {
    const all = [known(SERVER, { a: 'entry' }, 'a'), known(VIRTUAL, { b: 'entry' }, 'b')];
    expect(await collect(all, { limit: 2 })).toMatchObject({ written: ['a', 'b'], beyondLimit: [] });
    expect(await collect(all, { limit: 1 })).toMatchObject({
      written: ['a'],
      counted: 1,
      beyondLimit: ['b'],
      skipped: [expect.stringContaining('already has 1 different claim sets')],
    });
  });

  it('accepts the claim sets of retained entries first', async () => {
    const all = [known(SERVER, { a: 'entry' }, 'a'), known(VIRTUAL, { b: 'retained' }, 'b')];
    expect(await collect(all, { limit: 2 })).toMatchObject({ written: ['a'], retained: ['b'] });
    expect(await collect(all, { limit: 1 })).toMatchObject({
      written: [],
      retained: ['b'],
      beyondLimit: ['a'],
    });
  });
});
