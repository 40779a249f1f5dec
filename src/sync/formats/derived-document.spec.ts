import { describe, expect, it } from 'vitest';
import { checkDocument } from '../../documents/document-check.js';
import { derivedDocument, derivedVersion } from './derived-document.js';

const COMMIT = 'c'.repeat(40);
const made = (...statedBy: unknown[]) =>
  derivedDocument({
    ...{ namespace: 'io.github.acme', name: 'review', version: '1.0.0' },
    package: { url: 'https://github.com/acme/x', commit: COMMIT, folder: 'plugins/review' },
    statedBy,
  });

describe('the document of a plugin', () => {
  it('has the values in the manifest, otherwise those in the entry, and the location of the files', () => {
    const manifest = { name: 'x', displayName: 'Code Review', author: 'Ada', keywords: ['git', 'git', 7] };
    const entry = {
      ...{ displayName: 'other', description: 'Reviews code', license: 'MIT', homepage: 'https://a.example' },
      ...{ repository: { type: 'git', url: 'git+https://github.com/acme/x.git' }, category: 'development' },
      ...{ tags: ['review'], author: { name: 'Other' }, source: './x', strict: false },
    };
    const document = made(manifest, entry);
    expect(document).toEqual({
      ...{ namespace: 'io.github.acme', name: 'review', version: '1.0.0', title: 'Code Review' },
      ...{ description: 'Reviews code', license: 'MIT', homepage: 'https://a.example' },
      repository: { url: 'https://github.com/acme/x.git', type: 'git' },
      ...{ author: { name: 'Ada' }, keywords: ['git'], tags: ['review', 'development'] },
      packages: [
        {
          registryType: 'git',
          url: 'https://github.com/acme/x',
          commit: COMMIT,
          subfolder: 'plugins/review',
        },
      ],
    });
    expect(checkDocument('plugin', document).problems).toEqual([]);
  });

  it.each([
    [
      'of another type',
      { displayName: 1, license: {}, repository: 7, homepage: [], author: 3, keywords: 'x' },
    ],
    [
      'that says nothing',
      { displayName: ' ', license: '', repository: '', homepage: 'x', author: {}, tags: [] },
    ],
    ['with another scheme', { homepage: 'javascript:alert(1)', repository: 'ssh://git@a.example/x' }],
    ['with invisible characters', { keywords: ['a\u200bb'], tags: ['\u202e'], author: { name: '\u0000' } }],
    ['behind a prototype', JSON.parse('{"__proto__": {"displayName": "x", "license": "x"}}')],
  ])('leaves out what is stated %s', (_what, entry) => {
    const document = made(entry, { description: 'd' });
    expect(Object.keys(document)).toEqual(['namespace', 'name', 'description', 'version', 'packages']);
    expect(checkDocument('plugin', document).problems).toEqual([]);
  });

  it('cuts long text at a word boundary', () => {
    const long = 'word '.repeat(500);
    const document = made({ displayName: long, description: long, license: long });
    expect(document['title']).toMatch(/^(word )*word…$/);
    expect(document['description']).toMatch(/^(word )*word…$/);
    expect(checkDocument('plugin', document).problems).toEqual([]);
  });

  it('refers to the whole repository if there is no folder', () => {
    const document = derivedDocument({
      ...{ namespace: 'a.b.c', name: 'xx', version: '1', statedBy: [] },
      package: { url: 'https://a.example/x', ref: 'main', folder: '' },
    });
    expect(document['packages']).toEqual([{ registryType: 'git', url: 'https://a.example/x', ref: 'main' }]);
  });
});

it.each([
  [[{ version: '2.0.0' }, { version: '1.0.0' }], COMMIT, '2.0.0'],
  [[null, { version: '1.0.0' }], COMMIT, '1.0.0'],
  [[{ version: ' ' }, {}], COMMIT, 'c'.repeat(12)],
  [[{ version: 1.5 }], undefined, '1.5'],
  [[{ version: ['1'] }], undefined, undefined],
])('the version stated by %j, with the ID %s, is %s', (statedBy, id, version) =>
  expect(derivedVersion(statedBy, id)).toBe(version),
);
