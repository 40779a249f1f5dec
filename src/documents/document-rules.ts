import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import { isObject, pathOf } from '../json/json-values.js';
import { MAX_URL_LENGTH } from '../validation/urls.js';
import {
  isLine,
  isProse,
  MAX_PROBLEMS,
  preview,
  type DocumentProblem,
  typeName,
  withArticle,
} from './document-problem.js';
import { serverDocumentSchema } from './schemas/server-document.schema.js';
import { packageVersionProblem, versionProblem } from './versions.js';

/** A string format and the message for a string that does not have it. */
interface DocumentFormat {
  readonly validate: (text: string) => boolean;
  readonly rule: string;
}

/**
 * The formats of the schemas. reference/documents: URLs are `http` or `https`, because clients show them as links; text must
 * not contain characters that change how it is displayed.
 */
export const DOCUMENT_FORMATS: Readonly<Record<string, DocumentFormat>> = {
  line: {
    validate: isLine,
    rule: 'must not contain control characters, invisible characters, or characters that override or isolate the text direction',
  },
  prose: {
    validate: isProse,
    rule: 'must not contain control characters except line feed and tab, invisible characters, or characters that override or isolate the text direction',
  },
  'web-url': {
    validate: (text) =>
      text.length <= MAX_URL_LENGTH && /^https?:\/\//i.test(text) && isUri(text) && URL.canParse(text),
    rule: `must be an absolute URI with http:// or https://, such as "https://example.com/page", of at most ${MAX_URL_LENGTH} characters`,
  },
  'web-reference': {
    validate: (text) =>
      text.length <= MAX_URL_LENGTH && isLine(text) && !/\s/u.test(text) && staysOnTheWeb(text),
    rule: `must be relative or begin with http:// or https://, without white space and with at most ${MAX_URL_LENGTH} characters`,
  },
};

function isUri(text: string): boolean {
  const { uri } = fullFormats;
  return typeof uri === 'function' && uri(text);
}

// Parses references as browsers do (WHATWG URL), because the browser decides which scheme a link has.
function staysOnTheWeb(reference: string): boolean {
  const base = 'https://base.invalid/';
  return URL.canParse(reference, base) && /^https?:$/.test(new URL(reference, base).protocol);
}

/** The key of the publisher's block in `_meta`, which `filter.tags` also reads. */
export const PUBLISHER_PROVIDED = 'io.modelcontextprotocol.registry/publisher-provided';

/** Validation of longer documents stops at the first problem: a document can have 300,000 problems. */
const THOROUGH_LENGTH = 16 * 1024;
/** Saves time at each start: a test already validates the schemas, and optimized code would not run faster. */
const COMPILED_QUICKLY = {
  strict: false,
  verbose: true,
  meta: false,
  validateSchema: false,
  code: { optimize: false },
} as const;
const isServer = validators(serverDocumentSchema);

/** Two validators for one schema: one stops at the first error, the other finds all. */
interface Validators {
  readonly first: () => ValidateFunction;
  readonly all: () => ValidateFunction;
}

function validators(schema: object): Validators {
  const formats = Object.fromEntries(
    Object.entries(DOCUMENT_FORMATS).map(([name, { validate }]) => [name, validate]),
  );
  // Compiling all schemas takes a quarter of the startup time and 9 MiB, so each is compiled when its first document
  // arrives.
  const compiled = (allErrors: boolean) => {
    let validate: ValidateFunction | undefined;
    return () => (validate ??= new Ajv({ allErrors, formats, ...COMPILED_QUICKLY }).compile(schema));
  };
  return { first: compiled(false), all: compiled(true) };
}

/**
 * Checks a server document against the server schema of 2025-12-11 and further rules about versions and the digest of
 * an mcpb package. Returns at most 20 problems.
 */
export function checkServer(document: unknown): DocumentProblem[] {
  return problemsOf(isServer, document, [versionProblems, packageProblems]);
}

/** Returns the check for another schema, without the rules for server packages. */
export function checkerOf(schema: object): (document: unknown) => DocumentProblem[] {
  const compiled = validators(schema);
  return (document) => problemsOf(compiled, document, [versionProblems]);
}

function problemsOf(
  schema: Validators,
  document: unknown,
  rules: ((document: Record<string, unknown>) => DocumentProblem[])[],
): DocumentProblem[] {
  const beyond = isObject(document) ? rules.flatMap((rule) => rule(document)) : [];
  return [...schemaProblems(schema, document), ...beyond].slice(0, MAX_PROBLEMS);
}

function schemaProblems({ first, all }: Validators, document: unknown): DocumentProblem[] {
  let validate = first();
  if (validate(document)) return [];
  if ((JSON.stringify(document)?.length ?? 0) <= THOROUGH_LENGTH) {
    validate = all();
    validate(document);
  }
  const problems = (validate.errors ?? []).slice(0, 2 * MAX_PROBLEMS).flatMap(problemOf);
  return problems.length > 0 ? problems : [{ path: '', message: 'is not valid' }];
}

function problemOf(error: ErrorObject): DocumentProblem[] {
  const params = error.params as Record<string, unknown>;
  const problem = (message: string, key?: unknown) => [{ path: pathAt(error.instancePath, key), message }];
  switch (error.keyword) {
    case 'required':
      // "value or valueHint" is reported once, by `anyOf`.
      return error.schemaPath.includes('/anyOf/')
        ? []
        : problem(`is required${becauseOfType(error)}`, params['missingProperty']);
    case 'anyOf':
      return problem('an argument of type "positional" needs value or valueHint');
    case 'if':
      return [];
    case 'propertyNames':
      // Each name is reported separately.
      return [];
    case 'type':
      return problem(`must be ${withArticle(String(params['type']))}, not ${typeName(error.data)}`);
    case 'minLength':
      return problem(`has ${charactersOf(error.data)}, at least ${areOf(params['limit'])} needed`);
    case 'maxLength':
      return problem(`has ${charactersOf(error.data)}, at most ${areOf(params['limit'])} allowed`);
    case 'pattern':
      return problem(`${preview(error.data)} ${String(error.parentSchema?.['rule'])}`);
    case 'enum':
      return problem(
        `must be one of ${(params['allowedValues'] as unknown[]).map(preview).join(', ')}, not ${found(error.data)}`,
      );
    case 'format':
      return problem(`${preview(error.data)} ${String(DOCUMENT_FORMATS[String(params['format'])]?.rule)}`);
    case 'uniqueItems':
      return problem(`contains the same item twice, at ${String(params['i'])} and ${String(params['j'])}`);
    case 'additionalProperties':
      return problem(
        `is not allowed here; allowed keys: ${Object.keys(error.parentSchema?.['properties'] as object).join(', ')}`,
        params['additionalProperty'],
      );
    default:
      return problem(error.message ?? 'is not valid');
  }
}

function becauseOfType({ data, parentSchema }: ErrorObject): string {
  const of: unknown = parentSchema?.['of'];
  const type = isObject(data) ? data['type'] : undefined;
  return typeof of === 'string' && typeof type === 'string' ? ` for ${of} of type ${preview(type)}` : '';
}

// JSON Schema counts code points, not UTF-16 units.
function charactersOf(value: unknown): string {
  const length = [...String(value)].length;
  return length === 1 ? '1 character' : `${length === 0 ? 'no' : length} characters`;
}

function areOf(limit: unknown): string {
  return limit === 1 ? '1 is' : `${String(limit)} are`;
}

function found(value: unknown): string {
  return typeof value === 'string' ? preview(value) : typeName(value);
}

function versionProblems({ version }: Record<string, unknown>): DocumentProblem[] {
  const message = typeof version === 'string' && version !== '' ? versionProblem(version) : null;
  return message === null ? [] : [{ path: 'version', message }];
}

function packageProblems({ packages }: Record<string, unknown>): DocumentProblem[] {
  if (!Array.isArray(packages)) return [];
  const problems: DocumentProblem[] = [];
  for (const [index, item] of packages.entries()) {
    if (problems.length >= MAX_PROBLEMS) break;
    if (!isObject(item)) continue;
    const { registryType, version, fileSha256 } = item;
    const report = (key: string, message: string) =>
      problems.push({ path: pathOf(['packages', index, key]), message });
    const wrong = typeof version === 'string' ? packageVersionProblem(version) : null;
    if (wrong !== null) report('version', wrong);
    if (registryType === 'mcpb' && fileSha256 === undefined)
      report('fileSha256', 'is required for a package of type "mcpb"');
  }
  return problems;
}

// A JSON pointer does not distinguish array indexes from numeric keys; indexes are far more likely.
function pathAt(pointer: string, key: unknown): string {
  const parts = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d{1,9}$/.test(part) ? Number(part) : part));
  return pathOf(key === undefined ? parts : [...parts, String(key)]);
}
