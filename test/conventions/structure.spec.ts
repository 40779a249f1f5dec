import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, posix, resolve } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../..');

/**
 * The folders of src, lowest first: a folder may import from itself and from the ones before it. `main.ts` is
 * above them all.
 */
const FOLDERS = [
  'json',
  'limits',
  'claims',
  'validation',
  'documents',
  'client-config',
  'source-kinds',
  'outbound',
  'database',
  'claim-sets',
  'config',
  'members',
  'telemetry',
  'http',
  'git',
  'auth',
  'authz',
  'audit',
  'sources',
  'registries',
  'visibility',
  'entry-store',
  'admission',
  'entries',
  'catalog',
  'content',
  'sync',
  'marketplace',
  'mcp-publisher',
  'explain',
  'webhooks',
  'discovery',
  'web-ui',
  'health',
  'mcp-endpoint',
  'app',
  'cli',
];

const texts = textsIn('src');
const imports = importsOf(texts);

describe('the folders of src', () => {
  it('are those listed above, with main.ts above them all', () => {
    const entries = readdirSync(join(ROOT, 'src')).sort();
    expect(entries).toEqual([...FOLDERS, 'main.ts'].sort());
  });

  it('import one way: no folder imports from a later one', () => {
    const position = (file: string) =>
      file === 'main.ts' ? FOLDERS.length : FOLDERS.indexOf(file.split('/')[0] ?? '');
    const upwards = [...imports].flatMap(([file, targets]) =>
      targets.filter((target) => position(target) > position(file)).map((target) => `${file} → ${target}`),
    );
    expect(upwards).toEqual([]);
  });
});

/** All specs but the browser, soak and convention tests. */
const specs = ['src', 'test/api', 'test/system', 'web/src'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.spec.ts'))
    .map((file) => posix.join(folder, file.replaceAll('\\', '/'))),
);

describe('the specs', () => {
  it('measure processor time and the event loop in the soak tests only', () => {
    const measuring = /cpuUsage|largestShareOfOneTurn|eventLoopUtilization|monitorEventLoopDelay|\/stat`/;
    expect(specs.filter((file) => measuring.test(readFileSync(join(ROOT, file), 'utf8')))).toEqual([]);
  });
});

describe('a spec that runs longer in the soak tests', () => {
  it('is in vitest.soak.config.ts', async () => {
    const { LONGER_HERE } = (await import(join(ROOT, 'vitest.soak.config.ts'))) as {
      LONGER_HERE: readonly string[];
    };
    const longer = specs.filter((file) => readFileSync(join(ROOT, file), 'utf8').includes('inSoak('));
    expect([...LONGER_HERE].sort()).toEqual(longer.sort());
  });
});

describe.each(['src', 'web/src', 'demo', 'bench'])('the files of %s', (folder) => {
  it('have no import cycles, even of types', () => {
    const all = importsOf(textsIn(folder));
    const circles = [...all.keys()].map((file) => {
      const reached = reachedFrom(file, all);
      return [...reached].filter((other) => reachedFrom(other, all).has(file)).sort();
    });
    expect([...new Set(circles.filter(({ length }) => length > 0).map(String))]).toEqual([]);
  });
});

describe('the files of src', () => {
  it('export no name that another file exports', () => {
    const owners = new Map<string, string[]>();
    for (const [file, text] of texts)
      for (const [, name = ''] of text.matchAll(/^export (?:abstract |async )*(?:\w+|function\*) (\w+)/gm))
        owners.set(name, [...(owners.get(name) ?? []), file]);
    expect([...owners].filter(([, files]) => new Set(files).size > 1)).toEqual([]);
  });

  it('contain SQL in *.queries.ts only, apart from the database folder', () => {
    const elsewhere = [...texts].filter(
      ([file, text]) =>
        /\.query\s*[(<]/.test(text) &&
        !file.startsWith('database/') &&
        !basename(file).endsWith('.queries.ts'),
    );
    expect(elsewhere.map(([file]) => file)).toEqual([]);
  });
});

type Imports = ReadonlyMap<string, readonly string[]>;

function textsIn(folder: string): ReadonlyMap<string, string> {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.spec.ts'));
  return new Map(files.map((file) => [file, readFileSync(join(ROOT, folder, file), 'utf8')]));
}

/** The files of the same folder that each file imports: values or types, by declaration, `import()` or `export … from`. */
function importsOf(all: ReadonlyMap<string, string>): Imports {
  const importedBy = (file: string, text: string) =>
    ts
      .preProcessFile(text, true, true)
      .importedFiles.filter(({ fileName }) => fileName.startsWith('.'))
      .map(({ fileName }) => posix.join(dirname(file), fileName).replace(/\.js$/, '.ts'))
      .flatMap((target) => [target, `${target}x`].filter((path) => all.has(path)));
  return new Map([...all].map(([file, text]) => [file, importedBy(file, text)]));
}

/** Every file that a file imports, directly or transitively; contains the file itself only in a cycle. */
function reachedFrom(file: string, all: Imports, reached = new Set<string>()): Set<string> {
  for (const target of all.get(file) ?? [])
    if (!reached.has(target)) {
      reached.add(target);
      reachedFrom(target, all, reached);
    }
  return reached;
}
