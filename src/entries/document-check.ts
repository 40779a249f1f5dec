import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import { serverDocumentSchema } from './server-document.schema.js';
import { skillDocumentSchema } from './skill-document.schema.js';

/** One thing wrong with a document: where, such as `packages[0].transport.url`, and the rule it breaks. */
export interface Problem {
  readonly path: string;
  readonly message: string;
}

const MAX_PROBLEMS = 20;
/** Above this length only the first problem is looked for: a document can be wrong in 300 000 places. */
const THOROUGH_LENGTH = 64 * 1024;
const isServer = validators(serverDocumentSchema);
const isSkill = validators(skillDocumentSchema);

/** Two validators of one schema: one that ends at the first error, and one that finds them all. */
interface Validators {
  readonly first: ValidateFunction;
  readonly all: ValidateFunction;
}

function validators(schema: object): Validators {
  const compile = (allErrors: boolean) =>
    new Ajv({ allErrors, strict: false, verbose: true }).addFormat('uri', fullFormats.uri).compile(schema);
  return { first: compile(false), all: compile(true) };
}

/** Everything wrong with a server document, at most 20 problems. Empty: it may be stored and served. */
export function checkServer(document: unknown): Problem[] {
  const problems = schemaProblems(isServer, document);
  return problems.length > 0 ? problems : [...versionProblems(document), ...packageProblems(document)];
}

/** The same for a skill document. */
export function checkSkill(document: unknown): Problem[] {
  const problems = schemaProblems(isSkill, document);
  return problems.length > 0 ? problems : versionProblems(document);
}

/** A problem as one sentence. */
export function sentenceOf({ path, message }: Problem): string {
  return path === '' ? message : `${path}: ${message}`;
}

function schemaProblems({ first, all }: Validators, document: unknown): Problem[] {
  if (first(document)) return [];
  const thorough = (JSON.stringify(document)?.length ?? 0) <= THOROUGH_LENGTH;
  if (thorough) all(document);
  const problems = ((thorough ? all : first).errors ?? []).slice(0, 2 * MAX_PROBLEMS).flatMap(problemOf);
  return problems.length > 0 ? problems.slice(0, MAX_PROBLEMS) : [{ path: '', message: 'is not valid' }];
}

function problemOf(error: ErrorObject): Problem[] {
  const path = pathOf(error.instancePath);
  const params = error.params as Record<string, unknown>;
  const at = (key: unknown) => (path === '' ? String(key) : `${path}.${String(key)}`);
  switch (error.keyword) {
    case 'required':
      // The two halves of "value or valueHint" are reported together, below.
      return error.schemaPath.includes('/anyOf/')
        ? []
        : [{ path: at(params['missingProperty']), message: 'is required' }];
    case 'anyOf':
      return [{ path, message: 'a positional argument needs value or valueHint' }];
    case 'if':
      return [];
    case 'type':
      return [{ path, message: `must be ${article(String(params['type']))}, not ${typeName(error.data)}` }];
    case 'minLength':
      return [{ path, message: `needs at least ${String(params['limit'])} character(s)` }];
    case 'maxLength':
      return [
        {
          path,
          message: `has ${[...String(error.data)].length} characters, at most ${String(params['limit'])} are allowed`,
        },
      ];
    case 'pattern':
      return [{ path, message: `${shown(error.data)} does not match ${String(params['pattern'])}` }];
    case 'enum':
      return [
        {
          path,
          message: `${shown(error.data)} is none of ${(params['allowedValues'] as unknown[]).join(', ')}`,
        },
      ];
    case 'format':
      return [{ path, message: `${shown(error.data)} is no absolute URI` }];
    case 'not':
      return [{ path, message: `${shown(error.data)} is not allowed here` }];
    case 'uniqueItems':
      return [{ path, message: 'holds the same item twice' }];
    case 'additionalProperties':
      return [{ path: at(params['additionalProperty']), message: 'is not a key of this object' }];
    default:
      return [{ path, message: error.message ?? 'is not valid' }];
  }
}

// The schema leaves the form of versions to the registry: ranges and moving targets name no version.
const RANGE = /^[\^~<>=]|[<>=|*]|\s|^[vV]?(\d+\.)*[xX](\.[xX\d]+)*$/;

function versionProblems(document: unknown): Problem[] {
  const version = String((document as Record<string, unknown>)['version']);
  const refuse = (message: string) => [{ path: 'version', message }];
  if (version.toLowerCase() === 'latest') return refuse('"latest" names no version');
  if (/\p{Surrogate}/u.test(version)) return refuse('holds half a character');
  if (/\p{Cc}/u.test(version)) return refuse('holds a control character');
  if (RANGE.test(version)) return refuse(`${shown(version)} is a range, not one version`);
  return [];
}

function packageProblems(document: unknown): Problem[] {
  const { packages } = document as { packages?: { registryType: string; fileSha256?: string }[] };
  return (packages ?? []).flatMap((item, index) =>
    item.registryType === 'mcpb' && item.fileSha256 === undefined
      ? [{ path: `packages[${index}].fileSha256`, message: 'is required for an mcpb package' }]
      : [],
  );
}

function pathOf(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => {
      if (/^\d+$/.test(part)) return `${path}[${part}]`;
      return path === '' ? part : `${path}.${part}`;
    }, '');
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return article(typeof value);
}

function article(type: string): string {
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`;
}
