import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Type } from 'class-transformer';
import {
  ArrayUnique,
  IsArray,
  IsBoolean,
  IsDefined,
  IsIn,
  IsOptional,
  ValidateNested,
} from 'class-validator';
import { type Caller, ROLES } from '../auth/caller.js';
import type { Config } from '../config/config.js';
import { parseYamlValue } from '../config/yaml.js';
import { NoSuchCaller } from '../explain/assumed-caller.js';
import { CallerMembers, exactlyOneOf } from '../explain/explain.dto.js';
import { firstRefusal } from '../explain/steps.js';
import { checkShape, ValidateClass } from '../validation/class-validation.js';
import { IsText } from '../validation/decorators.js';
import { below, formatPath, foundKind, type Issue } from '../validation/value-checks.js';
import { OfflineAccess, readKnownSources } from './offline-access.js';
import { identifyOffline, type OfflineCallerForm, UnknownToken } from './offline-caller.js';

const BAD_USAGE = 2;

@ValidateClass(exactlyOneOf('claims', 'token', 'anonymous', 'key', 'tokenFile'))
class ExpectedCaller extends CallerMembers implements OfflineCallerForm {
  /** Relative to the file of expectations. */
  @IsOptional() @IsText() tokenFile?: string;
}

/** An expectation about one caller (reference/explain). */
export class Expectation {
  @IsOptional() @IsText() readonly name?: string;
  @IsDefined() @ValidateNested() @Type(() => ExpectedCaller) readonly caller: ExpectedCaller;
  @IsText() readonly registry: string;
  @IsOptional() @IsBoolean() readonly enters?: boolean;
  /** Names of entries that the caller must see. */
  @IsOptional() @IsArray() @IsText({ each: true }) readonly sees?: readonly string[];
  /** Names of entries that the caller must not see. */
  @IsOptional() @IsArray() @IsText({ each: true }) readonly not?: readonly string[];
  /** The caller's complete list of roles. */
  @IsOptional() @IsArray() @IsIn(ROLES, { each: true }) @ArrayUnique() readonly roles?: readonly string[];
}

/** The result for one expectation, which is met if there are no failures. */
interface ExpectationResult {
  readonly name: string;
  readonly registry: string;
  readonly failures: readonly string[];
}

/** Reads a YAML list of expectations, or reports all problems in the file. */
function readExpectations(file: string): {
  expectations: readonly Expectation[];
  problems: readonly string[];
} {
  let tree: unknown;
  try {
    ({ tree } = parseYamlValue(readFileSync(file, 'utf8'), file));
  } catch (error) {
    return { expectations: [], problems: [error instanceof Error ? error.message : 'cannot be read'] };
  }
  if (!Array.isArray(tree))
    return { expectations: [], problems: [`must be a list of expectations, not ${foundKind(tree)}`] };
  const checked = tree.map((element: unknown) => checkShape(Expectation, element));
  const issues: Issue[] = checked.flatMap((each, position) => below([position], each.issues));
  return {
    expectations: checked.map(({ value }) => value),
    problems: issues.map(({ path, message }) => `${formatPath(path)}: ${message}`),
  };
}

/**
 * Checks an expectation against the configured policy (reference/explain).
 *
 * @throws UnknownToken
 */
async function judge(access: OfflineAccess, expected: Expectation): Promise<ExpectationResult> {
  const { caller: form, registry, enters, sees = [], not = [], roles } = expected;
  const name = expected.name ?? JSON.stringify(form.claims ?? form);
  if (!access.registry(registry))
    return { name, registry, failures: [`registry ${registry} does not exist`] };
  let reader: Caller | undefined;
  let caller: Caller | undefined;
  try {
    [reader, caller] = [await callerOf(access, form, registry), await callerOf(access, form, null)];
  } catch (error) {
    if (!(error instanceof NoSuchCaller)) throw error;
    return { name, registry, failures: [`caller.${formatPath(error.path)} ${error.message}`] };
  }
  const mayEnter = reader !== undefined && access.enters(reader, registry);
  const failures: string[] = [];
  if (enters !== undefined && enters !== mayEnter)
    failures.push(mayEnter ? 'enters, but should not' : 'does not enter, but should');
  const isSeen = (entry: string) => reader !== undefined && mayEnter && access.sees(reader, registry, entry);
  for (const entry of sees) if (!isSeen(entry)) failures.push(`does not see ${entry}, but should`);
  for (const entry of not) if (isSeen(entry)) failures.push(`sees ${entry}, but should not`);
  const held = caller ? access.rolesOf(caller) : [];
  if (roles && (roles.length !== held.length || roles.some((role) => !held.some((one) => one === role))))
    failures.push(`has roles ${held.join(', ') || 'none'}; expected ${roles.join(', ') || 'none'}`);
  return { name, registry, failures };
}

/** Returns the caller; undefined if the server refuses all their requests. */
async function callerOf(
  access: OfflineAccess,
  { tokenFile, ...form }: ExpectedCaller,
  reads: string | null,
): Promise<Caller | undefined> {
  const { caller, step } = await identifyOffline(
    access,
    tokenFile === undefined ? form : { tokenFile },
    reads,
  );
  return firstRefusal([step]) ? undefined : caller;
}

/** Formats verdicts as JUnit XML, which CI systems display: https://github.com/testmoapp/junitxml */
function junitXml(file: string, verdicts: readonly ExpectationResult[]): string {
  const failures = verdicts.filter((verdict) => verdict.failures.length > 0).length;
  const counts = `tests="${verdicts.length}" failures="${failures}" errors="0"`;
  const cases = verdicts.map(({ name, registry, failures: found }) => {
    const head = `    <testcase classname="${escaped(registry)}" name="${escaped(name)}" time="0"`;
    if (found.length === 0) return `${head}/>`;
    const message = escaped(found.join('; '));
    return `${head}>\n      <failure message="${message}">${escaped(found.join('\n'))}</failure>\n    </testcase>`;
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="${escaped(file)}" ${counts}>`,
    ...cases,
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

// XML 1.0 §2.2 allows only these three control characters, even if escaped.
const NOT_XML = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;
const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\n': '&#10;',
};

function escaped(text: string): string {
  return text
    .replaceAll(NOT_XML, '\u{FFFD}')
    .replaceAll(/[&<>"\n]/g, (character) => ESCAPES[character] ?? '');
}

const MAX_NAME_WIDTH = 60;

/**
 * Checks a configuration against a file of expectations (reference/explain). Returns exit code 0, or 1 if an expectation
 * fails, or 2 if no provider issues the token in a `tokenFile`.
 *
 * @param junit output file for the results as JUnit XML.
 */
export async function checkAccess(config: Config, file: string, junit: string | undefined): Promise<number> {
  const { expectations, problems } = readExpectations(file);
  if (problems.length > 0) {
    process.stderr.write(`${file}:\n${problems.map((problem) => `  ${problem}\n`).join('')}`);
    return 1;
  }
  const known = await readKnownSources(config);
  const access = new OfflineAccess(config, known);
  const verdicts: ExpectationResult[] = [];
  try {
    for (const expected of expectations)
      verdicts.push(await judge(access, inFolder(dirname(file), expected)));
  } catch (error) {
    if (!(error instanceof UnknownToken)) throw error;
    process.stderr.write(`${file}: ${error.message}\n`);
    return BAD_USAGE;
  }
  process.stdout.write(`${table(verdicts)}\n`);
  const failed = verdicts.filter(({ failures }) => failures.length > 0).length;
  process.stdout.write(`${file}: ${verdicts.length - failed} passed, ${failed} failed, ${known.origin}\n`);
  if (junit !== undefined) writeFileSync(junit, junitXml(file, verdicts));
  return failed === 0 ? 0 : 1;
}

function inFolder(folder: string, expected: Expectation): Expectation {
  const { tokenFile } = expected.caller;
  if (tokenFile === undefined) return expected;
  return { ...expected, caller: { tokenFile: resolve(folder, tokenFile) } };
}

function table(verdicts: readonly ExpectationResult[]): string {
  const width = Math.min(MAX_NAME_WIDTH, Math.max(0, ...verdicts.map(({ name }) => name.length)));
  return verdicts
    .flatMap(({ name, registry, failures }) => [
      `${failures.length === 0 ? 'pass' : 'FAIL'}  ${name.padEnd(width)}  ${registry}`,
      ...failures.map((failure) => `      ${failure}`),
    ])
    .join('\n');
}
