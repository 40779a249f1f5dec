import { readFileSync } from 'node:fs';
import { subset } from 'semver';
import { expect, it } from 'vitest';

interface LockedPackage {
  readonly version?: string;
  readonly engines?: { readonly node?: string };
}

const read = (file: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'));

it('every dependency, even transitive and development ones, supports each Node version in package.json', () => {
  const { engines } = read('package.json') as { engines: { node: string } };
  const { packages } = read('package-lock.json') as { packages: Record<string, LockedPackage> };
  const narrower = Object.entries(packages)
    .filter(([, locked]) => locked.engines?.node && !subset(engines.node, locked.engines.node))
    .map(([path, locked]) => `${path} ${locked.version} requires Node ${locked.engines?.node}`);
  expect(narrower).toEqual([]);
});
