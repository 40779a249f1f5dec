import { expect, it } from 'vitest';
import { referenceOf } from './content-reference.js';

const RULES = { fetchHosts: ['git.example.com', 'oci.example.com'], fetchAccounts: [], insecureUrls: false };
const GIT = { registryType: 'git', url: 'https://git.example.com/a' };
const of = (...packages: object[]) => referenceOf(JSON.stringify({ packages }), RULES);

it.each([
  [
    { ...GIT, subfolder: './skills/a/' },
    { kind: 'git', folder: 'skills/a' },
  ],
  [
    { registryType: 'oci', identifier: 'oci.example.com/a/b__c:1.0' },
    { kind: 'oci', host: 'oci.example.com', repository: 'a/b__c', tag: '1.0' },
  ],
])('reads %j', (item, expected) => expect(of(item)).toMatchObject(expected));

it.each([
  ['identifier', { registryType: 'oci', identifier: '.'.repeat(900_000) }],
  ['subfolder', { ...GIT, subfolder: `a${'/'.repeat(900_000)}x` }],
  ['url', { ...GIT, url: `https://git.example.com/${'a'.repeat(2_048)}` }],
])('refuses a long %s, which would take minutes to match', (key, item) => {
  expect(() => of(item)).toThrow(`The ${key} of the package has more than 2048 characters`);
});

it('matches texts at the limit', () => {
  expect(() => of({ registryType: 'oci', identifier: '.'.repeat(2_048) })).toThrow('identifier');
  expect(of({ ...GIT, subfolder: `a${'/'.repeat(2_046)}x` })).toMatchObject({ kind: 'git' });
});

it('examines at most 50 packages', () => {
  const others = Array.from({ length: 49 }, () => ({ registryType: 'oci', identifier: 'x' }));
  expect(of(...others, GIT)).toMatchObject({ kind: 'git' });
  expect(() => of(...others, ...others, GIT)).toThrow('identifier');
});

it('skips packages at unlisted hosts, and refuses an invalid one at a listed host', () => {
  const [unlisted, invalid] = [
    { ...GIT, url: 'https://other.example.com/a' },
    { ...GIT, commit: 'x' },
  ];
  expect(of(unlisted)).toBeNull();
  expect(of(unlisted, GIT)).toMatchObject({ kind: 'git' });
  expect(() => of(unlisted, invalid)).toThrow('commit');
  expect(() => of()).toThrow('no packages');
});
