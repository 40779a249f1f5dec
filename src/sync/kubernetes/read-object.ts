import { claimsProblems } from '../../claims/claim-rules.js';
import type { Claims } from '../../claims/claims.js';
import { checkDocument, formatProblem } from '../../documents/document-check.js';
import { PUBLISHER_PROVIDED } from '../../documents/document-rules.js';
import type { IncomingVersion } from '../../documents/incoming-version.js';
import { packageVersionProblem } from '../../documents/versions.js';
import { repeatedKey } from '../../json/json-text.js';
import { isObject } from '../../json/json-values.js';
import { API_GROUP, type Resource } from './custom-resources.js';

/** What an annotation is called in sentences, and on objects. */
export function annotationKey(name: string): string {
  return `${API_GROUP}/${name}`;
}

/** The annotations of one object, as far as they are for the registry. */
export class Annotations {
  constructor(private readonly all: unknown) {}

  /** Undefined when it is absent, or holds nothing but white space. */
  text(name: string): string | undefined {
    const key = annotationKey(name);
    if (typeof this.all !== 'object' || this.all === null || !Object.hasOwn(this.all, key)) return undefined;
    const value: unknown = (this.all as Record<string, unknown>)[key];
    return typeof value === 'string' && value.trim() !== '' ? value : undefined;
  }

  /** Exactly "true": an object is exported by intent, not by a typing error. */
  get isExported(): boolean {
    return this.text('registry-export') === 'true';
  }

  /** Absent or empty: no claims. A mistake in them must hide the object, so it is never ignored. */
  claims(): { claims: Claims } | { problem: string } {
    const text = this.text('authz-claims');
    if (text === undefined) return { claims: {} };
    const invalid = (problem: string) => ({
      problem: `the annotation ${annotationKey('authz-claims')} ${problem}`,
    });
    const value = parse(text);
    if (value === undefined) return invalid('is not valid JSON');
    const problems = claimsProblems(value);
    if (problems.length > 0) return invalid(`is no map of claims: ${problems.join('; ')}`);
    const repeated = repeatedKey(text);
    if (repeated !== null) return invalid(`holds the claim ${JSON.stringify(repeated)} twice`);
    return { claims: value as Claims };
  }

  /** A JSON array whose items all pass; undefined when absent, null when it is something else. */
  list<T>(name: string, isItem: (item: unknown) => item is T): T[] | null | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = parse(text);
    return Array.isArray(value) && value.every(isItem) ? value : null;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Three numbers, a pre-release if need be, a `v` in front if need be; no build metadata. */
const USABLE_VERSION =
  /^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*))*)?$/;
const MAX_VERSION_LENGTH = 255;

/** Whether this may be the version of a server from a cluster. */
export function isUsableVersion(version: string): boolean {
  return version.length <= MAX_VERSION_LENGTH && USABLE_VERSION.test(version);
}

/** The parts of an image reference that identify a version. A port of the registry's host is no tag. */
export function partsOf(image: string): { tag: string | undefined; digest: string | undefined } {
  const [named = '', digest] = image.split('@', 2);
  const tag = named.slice(named.lastIndexOf('/') + 1).split(':', 2)[1];
  return { tag: tag || undefined, digest: digest || undefined };
}

/** The version of a package of this image: the digest, or else a tag that names one version. */
export function packageVersionOf(image: string): string | undefined {
  const { tag, digest } = partsOf(image);
  if (digest !== undefined) return digest;
  return tag !== undefined && packageVersionProblem(tag) === null ? tag : undefined;
}

const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
const PUBLISHER = 'io.github.stacklok';
/** What the names of all entries begin with; the object's `namespace/name` follows. */
export const ENTRY_PREFIX = 'com.toolhive.k8s.';
const DEFAULT_VERSION = '1.0.0';
/** Of a description and of a title. */
const MAX_TEXT = 100;
const MAX_ICON_URL = 255;
const ANY_URL = /^https?:\/\/\S+$/;

/** An object whose annotations make it an entry. */
export interface ExportedServer {
  readonly outcome: 'entry';
  readonly version: IncomingVersion;
  readonly tags: readonly string[];
  readonly claims: Claims;
  /** What was ignored or shortened, as sentences. */
  readonly warnings: readonly string[];
}

/** An exported object that can't be an entry. */
export interface SkippedObject {
  readonly outcome: 'skipped';
  readonly name: string;
  readonly version: string | null;
  readonly reasons: readonly string[];
}

/**
 * What an object of the cluster is in the catalogue; null when it is not exported. Neither labels nor phase nor readiness
 * matter, and the claims come from the object alone (spec §2.4).
 *
 * @param resource whose list or watch it comes from: objects in a list need not name their own kind.
 */
export function readObject(
  { kind, needsSpec }: Resource,
  object: unknown,
): ExportedServer | SkippedObject | null {
  const { namespace, name, uid, annotations: raw } = record(record(object)['metadata']);
  const annotations = new Annotations(raw);
  if (!annotations.isExported) return null;
  const exported: ExportedObject = {
    kind,
    namespace: String(namespace),
    name: String(name),
    uid: typeof uid === 'string' ? uid : undefined,
    spec: needsSpec ? record(record(object)['spec']) : {},
  };
  return new ObjectReader(exported, annotations).read();
}

/** What the stored document of an entry tells of its object; null when it tells nothing. */
export function readStored(document: string): { kind: string; tags: string[] } | null {
  const { _meta: meta } = record(JSON.parse(document));
  const extensions = record(record(record(meta)[PUBLISHER_PROVIDED])[PUBLISHER]);
  const [extension] = Object.values(extensions).map(record);
  const kind = text(record(record(extension?.['metadata'])['kubernetes'])['kind']);
  const tags = extension?.['tags'];
  return kind === undefined ? null : { kind, tags: Array.isArray(tags) ? tags.filter(isText) : [] };
}

interface ExportedObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string | undefined;
  /** Empty for the kinds whose specification holds nothing that is served. */
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
      ...(url !== undefined && !ANY_URL.test(url)
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
      // They are by far the largest part, and the only one that comes from outside as a whole.
      delete extension.tool_definitions;
      const [problem] = checked.problems;
      checked = checkDocument('server', document);
      if (checked.version) this.passedOver('tool-definitions', `does not fit: ${formatProblem(problem)}`);
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
      this.passedOver(
        'registry-version',
        `is no version such as 1.2.3 or v1.2.3-rc.1: ${JSON.stringify(wanted)}`,
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
    if (URL.canParse(src) && /^https:\/\/\S+$/.test(src) && src.length <= MAX_ICON_URL)
      return { icons: [{ src }] };
    this.passedOver('registry-icon', `is no https:// URL of at most ${MAX_ICON_URL} characters`);
    return {};
  }

  // Reached over the network, the package needs a URL: the one the proxy in front of it is exported with.
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
    if (tools === null) this.passedOver('tools', 'is no JSON array of names');
    if (definitions === null) this.passedOver('tool-definitions', 'is no JSON array of tools with a name');
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
    if (characters.length <= MAX_TEXT) return value;
    this.warnings.push(
      `the annotation ${annotationKey(annotation)} has ${characters.length} characters and was shortened to ${MAX_TEXT}`,
    );
    return `${characters.slice(0, MAX_TEXT - 1).join('')}…`;
  }

  private passedOver(annotation: string, why: string): void {
    this.warnings.push(`the annotation ${annotationKey(annotation)} was passed over: it ${why}`);
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
  return isText(record(value)['name']);
}

function text(value: unknown): string | undefined {
  return isText(value) ? value : undefined;
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}
