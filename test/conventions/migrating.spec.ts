import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ConfigFile } from '../../dist/config/config-file.dto.js';
import { unknownVariables } from '../../dist/config/overrides.js';
import { loadConfig, type LoadedConfig } from '../../dist/config/load-config.js';
import { TOOLHIVE_FILE, toolhiveKeys } from '../../dist/config/toolhive-keys.js';
import { checkShape } from '../../dist/validation/class-validation.js';
import { ConfigurationError, formatPath } from '../../dist/validation/value-checks.js';

const textOf = (name: string) => readFileSync(`docs/${name}.md`, 'utf8');
const MIGRATING = textOf('migrating');
/** The items of a section's list: old names, and the new name, "gone", or nothing if the names stay. */
const itemsOf = (section: string) => {
  const [, text = ''] = MIGRATING.split(`## ${section}\n`);
  const [list = ''] = text.split('\n## ');
  return [
    ...list
      .replaceAll('\n  ', ' ')
      .matchAll(/^- ((?:`[^`]+`(?:, )?)+)(?: (?:is|are) (?:now )?(`[^`]+`|gone))?/gm),
  ].map(([, old = '', successor]) => ({ old, successor }));
};
const KEYS = itemsOf('Keys');
const VARIABLES = itemsOf('Environment and flags');

const NONE = 'gone';
/** A value that no key accepts. */
const ODD = 0;

interface Row {
  olds: string[];
  /** If absent, the names stay the same. */
  successor: string | undefined;
}

const ROWS: Row[] = KEYS.map(({ old, successor }) => ({
  olds: keysIn(old),
  successor: successor?.replaceAll('`', ''),
}));

/** "`a.b`, `.c`" is `a.b` and `a.c`; `[]` is the first element of a list. */
function keysIn(cell: string): string[] {
  let parent = '';
  return cell.split(', ').map((part) => {
    const key = part.replaceAll('`', '');
    if (key.startsWith('.')) return parent + key;
    parent = key.slice(0, key.lastIndexOf('.'));
    return key;
  });
}

/** A tree with only this key. */
function treeOf(key: string): unknown {
  return key
    .split('.')
    .reduceRight<unknown>(
      (inner, step) => (step.endsWith('[]') ? { [step.slice(0, -2)]: [inner] } : { [step]: inner }),
      ODD,
    );
}

const placeOf = (key: string) => key.replaceAll('[]', '[0]');

function isKnown(key: string): boolean {
  const { issues } = checkShape(ConfigFile, treeOf(key));
  return !issues.some(
    ({ path, message }) =>
      message.startsWith('is not a known key') && placeOf(key).startsWith(formatPath(path)),
  );
}

const isRecognised = (key: string) =>
  toolhiveKeys(treeOf(key)).some(({ path }) => formatPath(path) === placeOf(key));

describe('the keys in docs/migrating.md', () => {
  it('number more than fifty', () => expect(ROWS.flatMap(({ olds }) => olds).length).toBeGreaterThan(50));

  it.each(ROWS)('$olds are $successor', ({ olds, successor }) => {
    for (const old of olds) {
      const now = successor ?? old;
      if (now !== NONE) expect({ now, known: isKnown(now) }).toEqual({ now, known: true });
      expect({ old, recognised: isRecognised(old) }).toEqual({ old, recognised: old !== now });
    }
  });

  it('are not recognized where they are invalid', () => {
    expect(isKnown('sources[].colour')).toBe(false);
    expect(isRecognised('sources[].colour')).toBe(false);
  });
});

it.each(VARIABLES)('a variable in docs/migrating.md: $old is $successor', ({ old, successor = '' }) => {
  for (const name of old.split(', ').map((each) => each.replaceAll('`', '')))
    if (name.startsWith('THV_')) expect(unknownVariables({ [name]: 'x' })).toHaveLength(1);
  const now = successor.replaceAll('`', '');
  if (now.startsWith('REGISTRY_')) expect(unknownVariables({ [now]: 'x' })).toEqual([]);
});

describe('a configuration of a ToolHive registry server', () => {
  let folder = '';
  beforeAll(async () => (folder = await mkdtemp(join(tmpdir(), 'registry-documents-'))));
  afterAll(() => rm(folder, { recursive: true }));

  // Their secrets exist only where they are deployed.
  const load = async (text: string): Promise<LoadedConfig> => {
    const file = join(folder, 'registry.yaml');
    const secret = join(folder, 'secret');
    await writeFile(secret, 'a secret');
    await writeFile(file, text.replaceAll(/\/run\/secrets\/\w+/g, secret));
    return loadConfig(file, {}, {});
  };

  const foreign = readFileSync('test/conventions/toolhive.yaml', 'utf8');
  const mapped = readFileSync('examples/from-toolhive.yaml', 'utf8');

  it('is refused with each key to change', async () => {
    const refusal: unknown = await load(foreign).then(() => undefined, (error: unknown) => error); // oxfmt-ignore
    expect(refusal).toBeInstanceOf(ConfigurationError);
    const { problems } = refusal as ConfigurationError;
    expect(problems[0]?.message).toBe(TOOLHIVE_FILE);
    expect(problems.slice(1).map(({ path }) => path)).toEqual([
      'auth.publicPaths',
      'sources[0].filter.names.include[0]',
      'database.maxOpenConns',
      'database.connMaxLifetime',
      'telemetry.enabled',
      'telemetry.endpoint',
      'audit.enabled',
    ]);
  });

  it('loads in its new form, with unrelated settings as they were: examples/from-toolhive.yaml', async () => {
    const { config, warnings } = await load(mapped);
    expect(warnings).toEqual([]);
    expect(config.database).toMatchObject({ host: 'db.example.com', poolMax: 25 });
    const same = ({ auth, sources, registries }: never) => ({ auth, sources, registries });
    expect(same(parse(mapped) as never)).toMatchObject({
      registries: same(parse(foreign) as never).registries,
    });
  });
});
