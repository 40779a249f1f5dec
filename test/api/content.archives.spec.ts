import { mkdtemp, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UnpackedFiles, unpackArchive } from '../../dist/content/archive.js';
import { sortFiles } from '../../dist/content/content-tree.js';
import { aTar, aTarGz, aZip, type TarEntry, type ZipEntry } from '../support/archives.js';
import { inSoak } from '../support/soak.js';

const MAX_BYTES = 1024 * 1024;

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'archives-'));
});
afterAll(() => rm(folder, { recursive: true }));

let archives = 0;

/** Unpacks an archive and returns its files as `path=text`, executable ones with `*`. */
async function unpack(archive: Buffer): Promise<string[]> {
  archives += 1;
  const file = join(folder, `${archives}.archive`);
  const into = await mkdtemp(join(folder, 'files-'));
  await writeFile(file, archive);
  const unpacked = new UnpackedFiles(into, MAX_BYTES);
  await unpackArchive(file, unpacked);
  const shown: string[] = [];
  for (const { path, executable, open } of sortFiles(unpacked.finish())) {
    const chunks: Buffer[] = [];
    for await (const chunk of open()) chunks.push(chunk);
    shown.push(`${path}${executable ? '*' : ''}=${Buffer.concat(chunks).toString().slice(0, 20)}`);
  }
  return shown;
}

const SKILL: ZipEntry = { name: 'SKILL.md', data: 'skill' };
const zip = (...entries: ZipEntry[]) => aZip([SKILL, ...entries]);
const tar = (...entries: TarEntry[]) => aTarGz([{ name: 'SKILL.md', data: 'skill' }, ...entries]);
const many = (count: number) => Array.from({ length: count }, (_, index) => ({ name: `file-${index}` }));
/** A path with this many bytes. */
const pathOf = (bytes: number) => `${'d/'.repeat((bytes - 2) / 2)}${'f'.repeat(2 - (bytes % 2))}`;

const aLink = (name: string, target: string): ZipEntry => ({ name, data: target, mode: 0o120777 });
/** This many links: each points to the one before it, the first to SKILL.md. */
const links = (count: number) =>
  Array.from({ length: count }, (_, index) => aLink(`l${index + 1}`, index === 0 ? 'SKILL.md' : `l${index}`));
/** Folders, each with two links to the previous one. */
const doubling = (count: number) =>
  Array.from({ length: count }, (_, index) =>
    ['a', 'b'].map((name) => aLink(`d${index + 1}/${name}`, `../d${index}`)),
  ).flat();

/** 1,984 files: 64 in a folder, and copies of them through 30 links. */
const MULTIPLIED: readonly ZipEntry[] = [
  ...many(64).map(({ name }) => ({ name: `d/${name}` })),
  ...Array.from({ length: 30 }, (_, index) => aLink(`l${index}`, 'd')),
];

/** Changes one header field of the last entry of a tar file and corrects the checksum. */
async function patchedTar(entry: TarEntry, patch: (header: Buffer) => void): Promise<Buffer> {
  const bytes = await aTar([entry]);
  const header = bytes.subarray(0, 512);
  patch(header);
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return gzipSync(bytes);
}

const SLASHES = `x${'/'.repeat(2_000_000)}x/`;
const deep = many(2_000).map(({ name }) => `${name}/${'d/'.repeat(240)}`);

const NOT_UTF8 = Buffer.from([0x61, 0xff, 0xfe]);
const BOMB = Buffer.alloc(MAX_BYTES + 1);
const LARGE = { name: 'large', data: BOMB.subarray(0, MAX_BYTES / 2) };

type Hostile = readonly [name: string, archive: () => Buffer | Promise<Buffer>, problem: RegExp];

const INVALID: readonly Hostile[] = [
  ['zip with a parent path', () => zip({ name: '../evil' }), /segment/],
  ['zip with a parent path inside', () => zip({ name: 'a/../../evil' }), /segment/],
  ['zip with an absolute path', () => zip({ name: '/etc/passwd' }), /absolute/],
  ['zip with a drive', () => zip({ name: 'C:/evil' }), /Windows/],
  ['zip with a Windows stream', () => zip({ name: 'a.md:evil' }), /Windows/],
  ['zip with a name that Windows refuses', () => zip({ name: 'a/what?.md' }), /Windows/],
  ['zip with a Windows device', () => zip({ name: 'a/Aux.c' }), /device on Windows/],
  ['zip with a folder that is a device', () => zip({ name: 'nul/a' }), /device on Windows/],
  ['zip with a backslash', () => zip({ name: '..\\evil' }), /backslash/],
  ['zip with a NUL', () => zip({ name: 'a\0b' }), /control character/],
  ['zip with a line feed', () => zip({ name: 'a\nb' }), /control character/],
  ['zip with a bidirectional override', () => zip({ name: 'a\u202egpj.exe' }), /control character/],
  ['zip with a name that is not UTF-8', () => zip({ name: NOT_UTF8 }), /not UTF-8/],
  ['zip with an empty name', () => zip({ name: '' }), /empty segment/],
  ['zip with an empty segment', () => zip({ name: 'a//b' }), /empty segment/],
  ['zip with a segment "."', () => zip({ name: 'a/./b' }), /segment "\."/],
  ['zip with a link to a system path', () => zip(aLink('a', '/etc/passwd')), /absolute path/],
  ['zip with a link out of the archive', () => zip(aLink('a', '../SKILL.md')), /leads to no file/],
  [
    'zip with a link that leaves and returns',
    () => zip(aLink('d/a', '../../d/f'), { name: 'd/f' }),
    /no file/,
  ],
  ['zip with a link to nothing', () => zip(aLink('a', 'b')), /leads to no file/],
  ['zip with a link into a file', () => zip(aLink('a', 'SKILL.md/b')), /leads to no file/],
  ['zip with a link to itself', () => zip(aLink('a', 'a')), /leads to no file/],
  ['zip with links to each other', () => zip(aLink('a', 'b'), aLink('b', 'a')), /leads to no file/],
  ['zip with nine links in a row', () => zip(...links(9)), /leads to no file/],
  ['zip with a link to its folder', () => zip({ name: 'd/f' }, aLink('d/a', '.')), /folder that contains it/],
  ['zip with a link to an omitted file', () => zip({ name: '._f' }, aLink('a', '._f')), /leads to no file/],
  [
    "zip with links to each other's folders",
    () => zip(aLink('d/a', '../e'), aLink('e/a', '../d')),
    /folder that contains it/,
  ],
  ['zip with a file below a link', () => zip(aLink('a', '.'), { name: 'a/f' }), /same file/],
  ['zip with a link that has a wrong checksum', () => zip({ ...aLink('a', 'SKILL.md'), crc: 1 }), /checksum/],
  ['zip with a device', () => zip({ name: 'null', mode: 0o020666 }), /not a regular file/],
  ['zip with a pipe', () => zip({ name: 'pipe', mode: 0o010666 }), /not a regular file/],
  ['zip with a folder that has data', () => zip({ name: 'a/', mode: 0o040755 }), /contains data/],
  ['zip with .git', () => zip({ name: '.git/config' }), /\.git/],
  ['zip with .git below', () => zip({ name: 'a/.GIT/hooks/post-checkout' }), /\.git/],
  ['zip with .git and an ignored character', () => zip({ name: '.g\u200cit/config' }), /\.git/],
  ['zip with the short name of .git', () => zip({ name: 'GIT~1/config' }), /\.git/],
  ['zip with .git and a dot', () => zip({ name: '.git./config' }), /ends with a dot/],
  ['zip with a duplicate file', () => zip({ name: 'a' }, { name: 'a' }), /same file/],
  ['zip with names that differ in case', () => zip({ name: 'skill.MD' }), /same file/],
  ['zip with folders that differ in case', () => zip({ name: 'd/a' }, { name: 'D/b' }), /same file/],
  ['zip with names that differ in form', () => zip({ name: 'é' }, { name: 'e\u0301' }), /same file/],
  ['zip with a file that is also a folder', () => zip({ name: 'a' }, { name: 'a/b' }), /same file/],
  ['zip with an encrypted file', () => zip({ name: 'a', flags: 0x801 }), /encrypted/],
  ['zip with an unknown compression', () => zip({ name: 'a', method: 14 }), /compression method 14/],
  ['zip with broken compression', () => zip({ name: 'a', packed: Buffer.alloc(9, 0xff) }), /invalid/],
  ['zip that says too little', () => zip({ name: 'a', data: 'x'.repeat(999), size: 3 }), /bytes/],
  ['zip that says too much', () => zip({ name: 'a', data: 'x', size: 999 }), /bytes/],
  ['zip bomb that says it is small', () => zip({ name: 'bomb', data: BOMB, size: 9 }), /bytes/],
  ['zip with a wrong checksum', () => zip({ name: 'a', crc: 1 }), /checksum/],
  ['zip cut off', () => zip({ name: 'a' }).subarray(0, -30), /end of central directory/i],
  ['zip without files', () => aZip([]), /no files/],
  ['zip with only folders', () => aZip([{ name: 'a/', data: '', mode: 0o040755 }]), /no files/],
  ['tar with a parent path', () => tar({ name: '../evil' }), /segment/],
  ['tar with an absolute path', () => tar({ name: '/etc/passwd' }), /absolute/],
  ['tar with a backslash', () => tar({ name: 'a\\b' }), /backslash/],
  ['tar with a link to the system', () => tar({ name: 'a', type: 'symlink', linkname: '/etc' }), /absolute/],
  ['tar with a link that leaves', () => tar({ name: 'a', type: 'symlink', linkname: '../b' }), /no file/],
  ['tar with a hard link', () => tar({ name: 'a', type: 'link', linkname: 'SKILL.md' }), /link/],
  ['tar with a character device', () => tar({ name: 'a', type: 'character-device' }), /device/],
  ['tar with a block device', () => tar({ name: 'a', type: 'block-device' }), /device/],
  ['tar with a pipe', () => tar({ name: 'a', type: 'fifo' }), /fifo/],
  ['tar with .git', () => tar({ name: '.git', type: 'directory' }), /\.git/],
  ['tar with a duplicate file', () => tar({ name: 'SKILL.md' }), /same file/],
  ['tar with names that differ in case', () => tar({ name: './skill.md' }), /same file/],
  ['tar with a NUL', () => tar({ name: 'a', pax: { path: 'a\0b' } }), /control character/],
  ['tar with an unknown type', () => patchedTar({ name: 'a' }, (header) => header.write('S', 156)), /null/],
  ['tar with a wrong checksum', async () => gzipSync(Buffer.alloc(1024, 'x')), /Invalid tar header/],
  [
    'tar that says too much',
    async () => gzipSync((await aTar([{ name: 'a', data: 'x' }])).subarray(0, 512 + 7)),
    /end of data/,
  ],
  ['tar.gz cut off', async () => (await tar({ name: 'a', data: 'x' })).subarray(0, 60), /unexpected end/],
  ['tar.gz with broken compression', async () => (await tar()).fill(0xff, 20, 60), /invalid|incorrect/],
  ['tar.gz without files', () => aTarGz([]), /no files/],
  ['gzip of a text', () => gzipSync('text'), /end of data/],
  ['text', () => Buffer.from('hello'), /zip or a tar\.gz/],
  ['an empty body', () => Buffer.alloc(0), /zip or a tar\.gz/],
  ['tar without gzip', () => aTar([{ name: 'a', data: 'x' }]), /zip or a tar\.gz/],
];

const TOO_LARGE: readonly Hostile[] = [
  ['zip bomb', () => zip({ name: 'bomb', data: BOMB }), /content\.maxBytesPerVersion/],
  [
    'zip bomb of many files',
    () => zip(...['a', 'b', 'c'].map((name) => ({ name, data: BOMB.subarray(0, MAX_BYTES / 2) }))),
    /maxBytesPerVersion/,
  ],
  ['zip with too many files', () => zip(...many(2_048)), /2048 files/],
  [
    'zip with too many folders',
    () => zip(...many(8_200).map(({ name }) => ({ name: `${name}/`, data: '', method: 0 }))),
    /2048 files/,
  ],
  ['zip with links that multiply its files', () => zip(...many(64), ...MULTIPLIED), /2048 files/],
  ['zip with links that double and double', () => zip({ name: 'd0/f' }, ...doubling(20)), /2048 files/],
  ['zip with a link to a large file', () => zip(LARGE, aLink('a', 'large')), /maxBytesPerVersion/],
  ['zip with a link to a long path', () => zip(aLink('a', 'x'.repeat(5_000))), /512 bytes|too long/],
  ['zip with a long path', () => zip({ name: pathOf(514) }), /512 bytes/],
  ['tar bomb', () => tar({ name: 'bomb', data: BOMB }), /content\.maxBytesPerVersion/],
  [
    'tar bomb of headers',
    () =>
      tar(
        ...Array.from({ length: 3 }, (_, index) => ({
          name: `f${index}`,
          pax: { comment: 'x'.repeat(3_500_000) },
        })),
      ),
    /maxBytesPerVersion/,
  ],
  ['tar with too many files', () => tar(...many(2_048)), /2048 files/],
  [
    'tar with too many folders',
    () => tar(...many(8_200).map(({ name }) => ({ name, type: 'directory' as const }))),
    /2048 files/,
  ],
  ['tar with a long path', () => tar({ name: pathOf(514) }), /512 bytes/],
  // These took hours without limits.
  [
    'zip with a folder of 64 KB of slashes',
    () => zip({ name: `x${'/'.repeat(65_000)}x/`, data: '', mode: 0o040755 }),
    /512 bytes/,
  ],
  [
    'tar with a folder of 2 MB of slashes',
    () => tar({ name: 'a', type: 'directory', pax: { path: SLASHES } }),
    /512 bytes/,
  ],
  [
    'tar with a file of 2 MB of slashes',
    () => tar({ name: 'a', pax: { path: SLASHES.slice(0, -1) } }),
    /512 bytes/,
  ],
  // These took gigabytes without limits.
  [
    'zip with many deep folders',
    () => zip(...deep.map((name) => ({ name, data: '', mode: 0o040755 }))),
    /paths are too long/,
  ],
  [
    'tar with many deep folders',
    () => tar(...deep.map((name) => ({ name, type: 'directory' as const }))),
    /paths are too long/,
  ],
];

describe('an archive is refused', () => {
  it.each(INVALID)('as invalid: %s', async (_name, archive, problem) => {
    const refused = expect(unpack(await archive())).rejects;
    await refused.toMatchObject({ code: 'invalid_archive', message: expect.stringMatching(problem) });
    await expectClosed();
  });

  // Links, which are counted like files, are faster; and both formats use the same class to count.
  const counted = TOO_LARGE.filter(([name]) => !/^tar with (too )?many|with too many files/.test(name));
  it.each(inSoak(TOO_LARGE, counted))('as too large: %s', async (_name, archive, problem) => {
    const refused = expect(unpack(await archive())).rejects;
    await refused.toMatchObject({ code: 'content_too_large', message: expect.stringMatching(problem) });
    await expectClosed();
  });
});

/** No file stays open. */
async function expectClosed(): Promise<void> {
  const opened = async () => {
    const links = await readdir('/proc/self/fd').catch(() => []);
    const targets = await Promise.all(links.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
    return targets.filter((target) => target.startsWith(folder));
  };
  await expect.poll(opened).toEqual([]);
}

describe('an archive is unpacked', () => {
  it.each([
    [
      'zip',
      () => zip({ name: 'scripts/run.sh', data: 'run', mode: 0o100755 }),
      ['SKILL.md=skill', 'scripts/run.sh*=run'],
    ],
    ['zip without compression', () => zip({ name: 'a', data: 'x', method: 0 }), ['SKILL.md=skill', 'a=x']],
    ['zip without modes', () => zip({ name: 'a', data: 'x', mode: 0 }), ['SKILL.md=skill', 'a=x']],
    ['zip with an empty file', () => zip({ name: 'a', data: '' }), ['SKILL.md=skill', 'a=']],
    [
      'tar.gz',
      () => tar({ name: 'scripts/run.sh', data: 'run', mode: 0o755 }),
      ['SKILL.md=skill', 'scripts/run.sh*=run'],
    ],
    [
      'tar.gz of a folder',
      () =>
        aTarGz([
          { name: './', type: 'directory' },
          { name: './a', data: 'x' },
        ]),
      ['a=x'],
    ],
    [
      'one top folder, removed',
      () =>
        aZip([
          { name: 'top/', data: '', mode: 0o040755 },
          { name: 'top/a', data: 'x' },
          { name: 'top/b/c', data: 'y' },
        ]),
      ['a=x', 'b/c=y'],
    ],
    ['one of several top folders, removed', () => aZip([{ name: 'top/in/a', data: 'x' }]), ['in/a=x']],
    [
      'two top folders, kept',
      () =>
        aZip([
          { name: 'a/f', data: 'x' },
          { name: 'b/f', data: 'y' },
        ]),
      ['a/f=x', 'b/f=y'],
    ],
    [
      'a hidden top folder, kept',
      () => aZip([{ name: '.claude-plugin/plugin.json', data: '{}' }]),
      ['.claude-plugin/plugin.json={}'],
    ],
    [
      'a file at the top next to a folder',
      () => zip({ name: 'a/f', data: 'x' }),
      ['SKILL.md=skill', 'a/f=x'],
    ],
    [
      'a link to a file, as a copy',
      () => zip({ name: 'd/run', data: 'run', mode: 0o100755 }, aLink('a/run', '../d/run')),
      ['SKILL.md=skill', 'a/run*=run', 'd/run*=run'],
    ],
    [
      'a link to a folder that has a link, as copies',
      () => zip(aLink('a', 'd/e'), { name: 'd/e/f', data: 'f' }, aLink('d/e/g', '../../SKILL.md')),
      ['SKILL.md=skill', 'a/f=f', 'a/g=skill', 'd/e/f=f', 'd/e/g=skill'],
    ],
    [
      'eight links in a row',
      () => zip(...links(8)),
      ['SKILL.md=skill', ...links(8).map(({ name }) => `${name}=skill`)],
    ],
    [
      'a link in a tar, before its target and below the top folder',
      () =>
        aTarGz([
          { name: 'top/AGENTS.md', type: 'symlink', linkname: './d/../CLAUDE.md' },
          { name: 'top/CLAUDE.md', data: 'x' },
          { name: 'top/d/f', data: 'y' },
        ]),
      ['AGENTS.md=x', 'CLAUDE.md=x', 'd/f=y'],
    ],
    [
      'a zip from Finder, with UTF-8 names without the flag',
      () =>
        aZip(
          [
            'top/',
            'top/Übersicht.md',
            'top/.DS_Store',
            '__MACOSX/',
            '__MACOSX/top/._Übersicht.md',
            'top/a/._b',
          ].map((name) => ({ name, data: name.endsWith('/') ? '' : 'x', mode: 0, flags: 0 })),
        ),
      ['Übersicht.md=x'],
    ],
    [
      'a zip with names in the DOS code page',
      () => zip({ name: Buffer.from([0x81, 0x2e, 0x6d, 0x64]), data: 'x', flags: 0 }),
      ['SKILL.md=skill', 'ü.md=x'],
    ],
    [
      'what a file manager leaves in a tar',
      () => tar({ name: 'Thumbs.db', data: 'x' }, { name: 'd/._a', data: 'x' }, { name: 'd/a', data: 'y' }),
      ['SKILL.md=skill', 'd/a=y'],
    ],
    [
      'names that only look alike',
      () => zip({ name: 'git/x', data: '1' }, { name: '.gitignore', data: '2' }),
      ['.gitignore=2', 'SKILL.md=skill', 'git/x=1'],
    ],
  ] as const)('%s', async (_name, archive, files) => {
    expect(await unpack(await archive())).toEqual(files);
  });

  it('if it is exactly at its limits', async () => {
    expect(await unpack(zip(...many(63), ...MULTIPLIED))).toHaveLength(2_048);
    if (inSoak(true, false)) expect(await unpack(zip(...many(2_047)))).toHaveLength(2_048);
    expect(await unpack(zip({ name: pathOf(512), data: '' }))).toHaveLength(2);
    expect(await unpack(zip({ name: 'bomb', data: BOMB.subarray(0, MAX_BYTES - 5) }))).toHaveLength(2);
    expect(await unpack(await tar({ name: 'bomb', data: BOMB.subarray(0, MAX_BYTES - 5) }))).toHaveLength(2);
  });
});
