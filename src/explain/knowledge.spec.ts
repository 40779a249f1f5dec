import { describe, expect, it } from 'vitest';
import {
  knowsEntries,
  knowsEntry,
  knowsManaged,
  knowsRegistry,
  knowsRules,
  knowsSource,
  mayAssume,
  type KnownResources,
  type Rights,
} from './knowledge.js';

const NO_RIGHTS: Rights = {
  superAdmin: false,
  manageSources: false,
  manageRegistries: false,
  manageEntries: false,
  listsRegistries: false,
};
const NOTHING: KnownResources = { registry: false, source: false, entry: false };

const ROLES: Readonly<Record<string, Partial<Rights>>> = {
  nobody: {},
  // The policy has `registryListing: readers`.
  reader: { listsRegistries: true },
  sources: { manageSources: true },
  registries: { manageRegistries: true, listsRegistries: true },
  entries: { manageEntries: true },
  super: {
    superAdmin: true,
    manageSources: true,
    manageRegistries: true,
    manageEntries: true,
    listsRegistries: true,
  },
};

/** `R`, `S`, `E`: the asker covers the claims of the registry, source or entry. */
const reachOf = (reached: string): KnownResources => ({
  ...NOTHING,
  registry: reached.includes('R'),
  source: reached.includes('S'),
  entry: reached.includes('E'),
});

describe('the knowledge of an asker', () => {
  // reference/explain: the asker's role, reach and knowledge.
  it.each([
    ['nobody', 'RSE', ''],
    ['nobody', '', ''],
    ['reader', 'RSE', 'registry'],
    ['reader', 'SE', ''],
    ['sources', 'RSE', 'as entry source managed'],
    ['sources', 'SE', 'as source managed'],
    ['sources', 'RE', 'as'],
    ['sources', 'RS', 'as entry source managed'],
    ['sources', '', 'as'],
    ['registries', 'RSE', 'as registry entries entry'],
    ['registries', 'R', 'as registry entries entry'],
    ['registries', 'SE', 'as'],
    ['registries', '', 'as'],
    ['entries', 'RSE', 'as entry managed'],
    ['entries', 'RS', 'as'],
    ['entries', 'E', 'as managed'],
    ['entries', 'RE', 'as entry managed'],
    ['entries', '', 'as'],
    ['super', '', 'as registry entries entry source managed rules'],
    ['super', 'RSE', 'as registry entries entry source managed rules'],
  ])('%s reaching %s: %s', (role, reached, known) => {
    const rights = { ...NO_RIGHTS, ...ROLES[role] };
    const reach = reachOf(reached);
    const checks = {
      as: mayAssume(rights),
      registry: knowsRegistry(rights, reach),
      entries: knowsEntries(rights, reach),
      entry: knowsEntry(rights, reach),
      source: knowsSource(rights, reach),
      managed: knowsManaged(rights, reach),
      rules: knowsRules(rights),
    };
    const names = Object.entries(checks).flatMap(([name, is]) => (is ? [name] : []));
    expect(names.join(' ')).toBe(known);
  });

  it('never shrinks with an additional role or a wider reach', () => {
    const checks = [knowsRegistry, knowsEntries, knowsEntry, knowsSource, knowsManaged];
    for (const check of checks)
      for (const more of Object.keys(NO_RIGHTS) as (keyof Rights)[])
        for (const reached of ['', 'R', 'S', 'E', 'RS', 'RE', 'SE', 'RSE'])
          for (const rights of Object.values(ROLES)) {
            const [less, greater] = [NO_RIGHTS, { ...NO_RIGHTS, [more]: true }].map((base) =>
              check({ ...base, ...rights }, reachOf(reached)),
            );
            if (less) expect(greater).toBe(true);
            if (check({ ...NO_RIGHTS, ...rights }, NOTHING)) expect(less).toBe(true);
          }
  });
});
