import { type Claims, claimsProblems } from '../../claims/claims.js';
import { checkDocument, formatProblem } from '../../documents/document-check.js';
import { PUBLISHER_PROVIDED } from '../../documents/document-rules.js';
import type { IncomingVersion } from '../../documents/entry-types.js';
import { packageVersionProblem } from '../../documents/versions.js';
import { parseShallow, repeatedKey } from '../../json/json-text.js';
import { elements, isObject, member } from '../../json/json-values.js';
import { API_GROUP, type Resource } from './custom-resources.js';

/** The prefix of all entry names; the object's `namespace/name` follows. */
export const ENTRY_PREFIX = 'com.toolhive.k8s.';
const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
const PUBLISHER = 'io.github.stacklok';
const DEFAULT_VERSION = '1.0.0';
/** A semantic version without build metadata, optionally with a leading `v`. */
const USABLE_VERSION =
  /^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*))*)?$/;
const MAX_VERSION_LENGTH = 255;
/** Maximum length of a description or title, in characters. */
const MAX_TEXT_LENGTH = 100;
const MAX_ICON_URL_LENGTH = 255;
/** Levels of JSON in an annotation, as in a document. */
const MAX_DEPTH = 100;
const HTTP_URL = /^https?:\/\/\S+$/;

function annotationKey(name: string): string {
  return `${API_GROUP}/${name}`;
}

/** The registry's annotations on one object. */
export class Annotations {
  constructor(private readonly all: unknown) {}

  /** Returns an annotation; undefined if it is absent or blank. */
  text(name: string): string | undefined {
    const value = member(this.all, annotationKey(name));
    return typeof value === 'string' && value.trim() !== '' ? value : undefined;
  }

  /** Whether the export annotation is exactly "true". */
  get isExported(): boolean {
    return this.text('registry-export') === 'true';
  }

  /**
   * Parses the claims; empty if the annotation is absent. Reports invalid claims, because they must hide the object.
   */
  claims(): { claims: Claims } | { problem: string } {
    const text = this.text('authz-claims');
    if (text === undefined) return { claims: {} };
    const invalid = (problem: string) => ({
      problem: `the annotation ${annotationKey('authz-claims')} ${problem}`,
    });
    const value = parseShallow(text, MAX_DEPTH);
    if (value === undefined) return invalid('is not valid JSON');
    const problems = claimsProblems(value);
    if (problems.length > 0) return invalid(`is not a valid claims map: ${problems.join('; ')}`);
    const repeated = repeatedKey(text);
    if (repeated !== null) return invalid(`contains the claim ${JSON.stringify(repeated)} twice`);
    return { claims: value as Claims };
  }

  /** Parses a JSON array; undefined if the annotation is absent, null if it is not an array or has an invalid item. */
  list<T>(name: string, isItem: (item: unknown) => item is T): T[] | null | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = parseShallow(text, MAX_DEPTH);
    return Array.isArray(value) && value.every(isItem) ? value : null;
  }
}

/** Returns whether an exported server may have this version. */
export function isUsableVersion(version: string): boolean {
  return version.length <= MAX_VERSION_LENGTH && USABLE_VERSION.test(version);
}

export function partsOf(image: string): { tag: string | undefined; digest: string | undefined } {
  const [reference = '', digest] = image.split('@', 2);
  // A colon before the last slash belongs to the host's port.
  const tag = reference.slice(reference.lastIndexOf('/') + 1).split(':', 2)[1];
  return { tag: tag || undefined, digest: digest || undefined };
}

/** Returns the package version of an image: its digest if present, otherwise a tag that identifies one version. */
export function packageVersionOf(image: string): string | undefined {
  const { tag, digest } = partsOf(image);
  if (digest !== undefined) return digest;
  return tag !== undefined && packageVersionProblem(tag) === null ? tag : undefined;
}

export interface ExportedServer {
  readonly outcome: 'entry';
  readonly version: IncomingVersion;
  readonly tags: readonly string[];
  readonly claims: Claims;
  /** Sentences that report ignored or shortened annotations. */
  readonly warnings: readonly string[];
}

/** An exported object that cannot become a valid entry. */
export interface SkippedObject {
  readonly outcome: 'skipped';
  readonly name: string;
  readonly version: string | null;
  readonly reasons: readonly string[];
}

/**
 * Converts an object of the cluster to a server entry; returns null if the object is not exported. Labels, phase and
 * readiness have no effect, and the claims come only from the object (reference/access).
 *
 * @param resource the listed or watched resource; listed objects may have no `kind` field.
 */
export function readObject(
  { kind, needsSpec }: Resource,
  object: unknown,
): ExportedServer | SkippedObject | null {
  const { namespace, name, uid, annotations: raw } = record(member(object, 'metadata'));
  const annotations = new Annotations(raw);
  if (!annotations.isExported) return null;
  const exported: ExportedObject = {
    kind,
    namespace: String(namespace),
    name: String(name),
    uid: typeof uid === 'string' ? uid : undefined,
    spec: needsSpec ? record(member(object, 'spec')) : {},
  };
  return new ObjectReader(exported, annotations).read();
}

/** Reads the kind and the tags of the object from a stored document; null if the document has no kind. */
export function readStored(document: string): { kind: string; tags: string[] } | null {
  const meta = member(JSON.parse(document), '_meta');
  const [extension] = Object.values(record(member(member(meta, PUBLISHER_PROVIDED), PUBLISHER)));
  const kind = text(member(member(member(extension, 'metadata'), 'kubernetes'), 'kind'));
  return kind === undefined ? null : { kind, tags: elements(member(extension, 'tags')).filter(isText) };
}

interface ExportedObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string | undefined;
  /** Empty if the kind's spec is not needed. */
  readonly spec: Readonly<Record<string, unknown>>;
}

class ObjectReader {
  private readonly warnings: string[] = [];

  constructor(
    private readonly object: ExportedObject,
    private readonly annotations: Annotations,
  ) {}

  read(): ExportedServer | SkippedObject {
    const version = this.version();
    const url = this.annotations.text('registry-url');
    const description = this.annotations.text('registry-description');
    const labels = this.annotations.claims();
    const reasons = [
      ...(url === undefined ? [`the annotation ${annotationKey('registry-url')} is required`] : []),
      ...(url !== undefined && !HTTP_URL.test(url)
        ? [
            `the annotation ${annotationKey('registry-url')} must begin with http:// or https:// and contain no white space`,
          ]
        : []),
      ...(description === undefined
        ? [`the annotation ${annotationKey('registry-description')} is required`]
        : []),
      ...('problem' in labels ? [labels.problem] : []),
    ];
    if (reasons.length > 0 || url === undefined || description === undefined || 'problem' in labels)
      return this.skipped(version, reasons);
    const extension = this.extension();
    const document = {
      $schema: SCHEMA,
      name: this.entryName,
      description: this.shortened('registry-description', description),
      ...this.title(),
      version,
      ...this.icons(),
      ...this.packages(url),
      remotes: [{ type: 'streamable-http', url }],
      _meta: { [PUBLISHER_PROVIDED]: { [PUBLISHER]: { [url]: extension } } },
    };
    let checked = checkDocument('server', document);
    if (!checked.version && extension.tool_definitions !== undefined) {
      // Tool definitions are by far the largest part, and only they are copied without validation.
      delete extension.tool_definitions;
      const [problem] = checked.problems;
      checked = checkDocument('server', document);
      if (checked.version)
        this.ignored('tool-definitions', `it makes the document invalid: ${formatProblem(problem)}`);
    }
    if (!checked.version) return this.skipped(version, checked.problems.map(formatProblem));
    return {
      outcome: 'entry',
      version: checked.version,
      tags: extension.tags ?? [],
      claims: labels.claims,
      warnings: this.warnings,
    };
  }

  private get entryName(): string {
    return `${ENTRY_PREFIX}${this.object.namespace}/${this.object.name}`;
  }

  private get image(): string | undefined {
    return text(this.object.spec['image']);
  }

  private get transport(): string {
    return text(this.object.spec['transport']) ?? 'stdio';
  }

  private version(): string {
    const wanted = this.annotations.text('registry-version');
    if (wanted !== undefined && isUsableVersion(wanted)) return wanted;
    if (wanted !== undefined)
      this.ignored(
        'registry-version',
        `it is not a version such as 1.2.3 or v1.2.3-rc.1: ${JSON.stringify(wanted)}`,
      );
    const tag = this.image === undefined ? undefined : partsOf(this.image).tag;
    return tag !== undefined && isUsableVersion(tag) ? tag : DEFAULT_VERSION;
  }

  private title(): { title?: string } {
    const title = this.annotations.text('registry-title');
    return title === undefined ? {} : { title: this.shortened('registry-title', title) };
  }

  private icons(): { icons?: object[] } {
    const src = this.annotations.text('registry-icon');
    if (src === undefined) return {};
    if (URL.canParse(src) && /^https:\/\/\S+$/.test(src) && src.length <= MAX_ICON_URL_LENGTH)
      return { icons: [{ src }] };
    this.ignored('registry-icon', `it is not an https:// URL of at most ${MAX_ICON_URL_LENGTH} characters`);
    return {};
  }

  // Clients reach the package through its proxy, at the exported URL.
  private packages(url: string): { packages?: object[] } {
    if (this.image === undefined) return {};
    const type =
      this.transport === 'stdio'
        ? (text(this.object.spec['proxyMode']) ?? 'streamable-http')
        : this.transport;
    const version = packageVersionOf(this.image);
    const item = { registryType: 'oci', identifier: this.image, transport: { type, url } };
    return { packages: [version === undefined ? item : { ...item, version }] };
  }

  private extension(): Extension {
    const { kind, namespace, name, uid } = this.object;
    const tools = this.annotations.list('tools', isText);
    const definitions = this.annotations.list('tool-definitions', isTool);
    if (tools === null) this.ignored('tools', 'it is not a JSON array of names');
    if (definitions === null) this.ignored('tool-definitions', 'it is not a JSON array of tools with a name');
    const category = this.annotations.text('registry-category');
    return {
      status: 'active',
      ...(tools ? { tools } : {}),
      ...(definitions ? { tool_definitions: definitions } : {}),
      ...(category === undefined ? {} : { tags: [category] }),
      metadata: {
        kubernetes: {
          kind,
          namespace,
          name,
          ...(uid === undefined ? {} : { uid }),
          ...(this.image === undefined ? {} : { image: this.image, transport: this.transport }),
        },
      },
    };
  }

  private shortened(annotation: string, value: string): string {
    const characters = [...value];
    if (characters.length <= MAX_TEXT_LENGTH) return value;
    this.warnings.push(
      `the annotation ${annotationKey(annotation)} has ${characters.length} characters and was shortened to ${MAX_TEXT_LENGTH}`,
    );
    return `${characters.slice(0, MAX_TEXT_LENGTH - 1).join('')}…`;
  }

  private ignored(annotation: string, reason: string): void {
    this.warnings.push(`the annotation ${annotationKey(annotation)} was ignored: ${reason}`);
  }

  private skipped(version: string, reasons: readonly string[]): SkippedObject {
    const { kind, namespace, name } = this.object;
    return {
      outcome: 'skipped',
      name: this.entryName,
      version,
      reasons: reasons.map((reason) => `${kind} ${namespace}/${name}: ${reason}`),
    };
  }
}

interface Extension {
  status: 'active';
  tools?: string[];
  tool_definitions?: object[];
  tags?: string[];
  metadata: object;
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTool(value: unknown): value is object {
  return isText(member(value, 'name'));
}

function text(value: unknown): string | undefined {
  return isText(value) ? value : undefined;
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}
