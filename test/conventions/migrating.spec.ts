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
import { tablesIn } from '../support/markdown.js';

const textOf = (name: string) => readFileSync(`docs/${name}.md`, 'utf8');
const MIGRATING = textOf('migrating');
const [KEYS = [], VARIABLES = []] = tablesIn(MIGRATING);

const NONE = '–';
const UNCHANGED = 'unchanged';
/** A value that no key accepts. */
const ODD = 0;

interface Row {
  olds: string[];
  successor: string;
}

const ROWS: Row[] = KEYS.map(({ old = '', new: successor = '' }) => ({ olds: keysIn(old), successor }));

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
  it('are many', () => expect(ROWS.flatMap(({ olds }) => olds).length).toBeGreaterThan(50));

  it.each(ROWS)('$olds are $successor', ({ olds, successor }) => {
    for (const old of olds) {
      const now = successor === UNCHANGED ? old : successor;
      if (now !== NONE) expect({ now, known: isKnown(now) }).toEqual({ now, known: true });
      expect({ old, recognised: isRecognised(old) }).toEqual({ old, recognised: old !== now });
    }
  });

  it('are not recognized where they are invalid', () => {
    expect(isKnown('sources[].colour')).toBe(false);
    expect(isRecognised('sources[].colour')).toBe(false);
  });
});

it.each(VARIABLES)('a variable in docs/migrating.md: $old is $new', ({ old = '', new: successor = '' }) => {
  for (const name of old.split(', ').map((each) => each.replaceAll('`', '')))
    if (name.startsWith('THV_')) expect(unknownVariables({ [name]: 'x' })).toHaveLength(1);
  if (successor.startsWith('REGISTRY_')) expect(unknownVariables({ [successor]: 'x' })).toEqual([]);
});

describe('the configurations in', () => {
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

  /** The YAML blocks that are complete configurations. */
  const whole = (name: string) =>
    [...textOf(name).matchAll(/```yaml\n(.*?)```/gs)]
      .map(([, text = '']) => text)
      .filter((text) => text.startsWith('auth:') || text.startsWith('# of '));

  it.each(whole('clients'))('docs/clients.md load without a warning:\n%s', async (text) => {
    expect((await load(text)).warnings).toEqual([]);
  });

  const [foreign = '', mapped = ''] = whole('migrating');

  it('docs/migrating.md: the old one is refused, naming each key to change', async () => {
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

  it('docs/migrating.md: the new one loads and keeps unrelated settings', async () => {
    const { config, warnings } = await load(mapped);
    expect(warnings).toEqual([]);
    expect(config.database).toMatchObject({ host: 'db.example.com', poolMax: 25 });
    const same = ({ auth, sources, registries }: never) => ({ auth, sources, registries });
    expect(same(parse(mapped) as never)).toMatchObject({
      registries: same(parse(foreign) as never).registries,
    });
  });
});
