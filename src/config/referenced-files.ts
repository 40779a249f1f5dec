import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { elements, member } from '../json/json-values.js';
import { SOURCE_KINDS } from '../source-kinds/kinds.js';
import { namedFiles } from '../source-kinds/named-files.js';
import { membersWith, type Unchecked } from '../validation/class-validation.js';
import { below, formatPath, type Issue, issue, type Path } from '../validation/value-checks.js';
import type { ConfigFile } from './config-file.dto.js';
import { isKey, NO_KEY } from './registry-keys.js';
import { secretsProblem } from './webhook-settings.dto.js';
import { logoType } from './web-config.js';
import { unreadable } from './yaml.js';

const MAX_BYTES = 1024 * 1024;
const MAX_LOGO_BYTES = 128 * 1024;

/** The files that the configuration refers to; `contents` is keyed by absolute path. */
export interface ReferencedFiles {
  readonly issues: Issue[];
  /** Messages about unreadable files that are needed only later. */
  readonly warnings: string[];
  readonly contents: ReadonlyMap<string, string>;
}

/**
 * Reads every secret, certificate and picture that the configuration refers to. Issues never quote the content. A
 * provider's missing token file causes only a warning, because the file is read when needed (reference/authentication)
 * and may be mounted later.
 *
 * @param directory The directory of the configuration file. Relative paths are resolved against it.
 */
export function readReferencedFiles(file: Unchecked<ConfigFile>, directory: string): ReferencedFiles {
  const contents = new Map<string, string>();
  const warnings: string[] = [];
  const keys = new Map<string, string>();
  const issues = references(file).flatMap(({ path, name }) => {
    if (typeof name !== 'string' || name === '' || name.includes('\0')) return [];
    const absolute = resolve(directory, name);
    const read = path[0] === 'web' ? readLogo(absolute) : readSecret(absolute);
    if ('problem' in read && path.at(-1) === 'authTokenFile') {
      warnings.push(
        `${formatPath(path)}: the file ${absolute} ${read.problem}; until it can be read, tokens of this provider are ` +
          'refused with 503',
      );
      return [];
    }
    if ('problem' in read) return below(path, issue(`the file ${absolute} ${read.problem}`));
    contents.set(absolute, read.content);
    if (path[0] === 'web') return [];
    if (path[0] === 'webhooks' || path[0] === 'admission') {
      const problem = secretsProblem(read.content);
      return problem === undefined ? [] : below(path, issue(`the file ${absolute} ${problem}`));
    }
    if (path[0] === 'registries') return below(path, keyIssues(absolute, read.content, keys, path[1]));
    return below(path, pemIssues(absolute, read.content, String(path.at(-1))));
  });
  return { issues, warnings, contents };
}

function pemIssues(file: string, content: string, key: string): Issue[] {
  if (
    ['caCertPath', 'sslRootCertFile', 'sslCertFile'].includes(key) &&
    !content.includes('-----BEGIN CERTIFICATE-----')
  )
    return issue(`the file ${file} contains no PEM certificate`);
  return key === 'sslKeyFile' && !/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(content)
    ? issue(`the file ${file} contains no PEM private key`)
    : [];
}

// If two files contained the same key, the key would have two sets of claims.
function keyIssues(file: string, key: string, known: Map<string, string>, registry: unknown): Issue[] {
  if (!isKey(key)) return issue(`the file ${file} ${NO_KEY}`);
  const other = known.get(`${String(registry)} ${key}`);
  known.set(`${String(registry)} ${key}`, file);
  return other === undefined ? [] : issue(`the file ${file} contains the same key as ${other}`);
}

/** Reads a file with a secret, without a trailing line break. */
export function readSecret(file: string): { content: string } | { problem: string } {
  try {
    const stats = statSync(file);
    // Reading a named pipe could block startup forever.
    if (!stats.isFile()) return { problem: 'is not a regular file' };
    if (stats.size > MAX_BYTES) return { problem: 'is larger than 1 MiB' };
    // Editors and `echo` add a final line break.
    const content = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
    return content === '' ? { problem: 'is empty' } : { content };
  } catch (error) {
    return { problem: unreadable(error) };
  }
}

/** Reads an image as base64, because it is not text. */
function readLogo(file: string): { content: string } | { problem: string } {
  try {
    const stats = statSync(file);
    if (!stats.isFile()) return { problem: 'is not a regular file' };
    if (stats.size > MAX_LOGO_BYTES) return { problem: `is larger than ${MAX_LOGO_BYTES / 1_024} KiB` };
    const bytes = readFileSync(file);
    return logoType(bytes) === null
      ? { problem: 'is not a PNG, JPEG, GIF, WebP or SVG image' }
      : { content: bytes.toString('base64') };
  } catch (error) {
    return { problem: unreadable(error) };
  }
}

interface Reference {
  readonly path: Path;
  readonly name: unknown;
}

function references(file: Unchecked<ConfigFile>): Reference[] {
  return [
    ...membersWith(['isFileName'], file).map(({ path, value }) => ({ path, name: value })),
    ...elements(file.sources).flatMap((source, position) => credentialsOf(source, ['sources', position])),
    ...elements(member(member(file.content, 'fetch'), 'hosts')).map((host, position) => ({
      path: ['content', 'fetch', 'hosts', position, 'auth', 'passwordFile'],
      name: member(member(host, 'auth'), 'passwordFile'),
    })),
  ];
}

// Lists only credentials, because files with entries may be created after startup.
function credentialsOf(source: unknown, above: Path): Reference[] {
  return SOURCE_KINDS.flatMap((kind) =>
    namedFiles(kind, member(source, kind))
      .filter(({ use }) => use === 'credential')
      .map(({ path, name }) => ({ path: [...above, kind, ...path], name })),
  );
}
