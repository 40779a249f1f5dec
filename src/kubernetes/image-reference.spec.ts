import { expect, it } from 'vitest';
import { isUsableVersion, packageVersionOf, partsOf } from './image-reference.js';

it.each(['1.2.3', 'v1.2.3', '0.0.0', '1.2.3-rc.1', '1.2.3-x-y.0', `1.2.3-${'a'.repeat(249)}`])(
  'a server may have the version %.20s',
  (version) => expect(isUsableVersion(version)).toBe(true),
);

it.each([
  '1.2',
  '1',
  '1.2.3.4',
  '1.2.3+build',
  '01.2.3',
  '1.2.3-01',
  '1.2.3-',
  'V1.2.3',
  'vv1.2.3',
  ' 1.2.3',
  '^1.2.3',
  'latest',
  '',
  `1.2.3-${'a'.repeat(250)}`,
])('a server may not have the version %.20j', (version) => expect(isUsableVersion(version)).toBe(false));

it.each([
  ['ghcr.io/acme/x:2.0.1', '2.0.1', undefined, '2.0.1'],
  ['ghcr.io/acme/x:2.0.1@sha256:abc', '2.0.1', 'sha256:abc', 'sha256:abc'],
  ['ghcr.io/acme/x@sha256:abc', undefined, 'sha256:abc', 'sha256:abc'],
  ['host:5000/x', undefined, undefined, undefined],
  ['host:5000/x:3.0.0', '3.0.0', undefined, '3.0.0'],
  ['x:nightly', 'nightly', undefined, 'nightly'],
  ['x:latest', 'latest', undefined, undefined],
  ['x:1.x', '1.x', undefined, undefined],
  ['x', undefined, undefined, undefined],
  ['x:', undefined, undefined, undefined],
  ['x@', undefined, undefined, undefined],
  ['', undefined, undefined, undefined],
])(
  'the image %j has the tag %j and the digest %j, and its package the version %j',
  (image, tag, digest, version) => {
    expect(partsOf(image)).toEqual({ tag, digest });
    expect(packageVersionOf(image)).toBe(version);
  },
);
