import { expect, it } from 'vitest';
import { type StorableVersion, NO_VERSIONS, refusedVersions } from './entry-limits.queries.js';

const LIMITS = { versionsPerEntry: 3, bytesPerEntry: 100 };

/** Versions `1=10`: key 1 with 10 bytes. */
function candidates(...versions: string[]): StorableVersion[] {
  return versions.map((text) => {
    const [version = '', bytes = '1'] = text.split('=');
    return { type: 'server', name: 'io.acme/a', version, versionKey: version, bytes: Number(bytes) };
  });
}

const stored = (versions: number, bytes: number) => ({ versions, bytes });

it.each<[rule: string, StorableVersion[], typeof NO_VERSIONS, refused: string[]]>([
  ['none up to the limits', candidates('1=50', '2=25', '3=25'), NO_VERSIONS, []],
  ['all but the newest', candidates('2', '4', '1', '5', '3'), NO_VERSIONS, ['1 versions', '2 versions']],
  [
    'all older than the first that does not fit',
    candidates('1=1', '2=60', '3=60'),
    NO_VERSIONS,
    ['1 bytes', '2 bytes'],
  ],
  ['one that never fits, but not older ones', candidates('1=10', '2=101', '3=10'), NO_VERSIONS, ['2 bytes']],
  [
    'no version of an entry beyond lowered limits',
    candidates('1=50', '2=50', '3=50', '4=50'),
    stored(4, 200),
    [],
  ],
  [
    'the oldest if such an entry would grow',
    candidates('1', '2', '3', '4', '5'),
    stored(4, 4),
    ['1 versions'],
  ],
  [
    'by the order of bytes, not of UTF-16 units',
    candidates('\u{10000}', '\uFFFD', 'b', 'a'),
    NO_VERSIONS,
    ['a versions'],
  ],
])('refuses %s', async (_rule, all, size, refused) => {
  const found = await refusedVersions(all, size, LIMITS);
  const kinds = found.map(
    ({ version, reason }) => `${version} ${/versions|bytes/.exec(reason.slice(30))?.[0]}`,
  );
  expect(kinds.sort()).toEqual(refused);
  for (const { reason } of found) expect(reason).toMatch(/^entry_full: .*limits\.(versions|bytes)PerEntry/);
});

it('keeps the newest of thousands of versions in any order', async () => {
  const keys = Array.from({ length: 2_500 }, (_, index) => String((index * 7_919) % 2_500).padStart(4, '0'));
  const refused = new Set(
    (await refusedVersions(candidates(...keys), NO_VERSIONS, LIMITS)).map((one) => one.version),
  );
  expect(keys.filter((key) => !refused.has(key)).sort()).toEqual(['2497', '2498', '2499']);
});
