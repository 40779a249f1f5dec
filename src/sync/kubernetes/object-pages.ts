import { member } from '../../json/json-values.js';
import { ClusterError, ResponseTooLarge } from './cluster-error.js';
import { describeCollection, type ResourceCollection } from './custom-resources.js';
import type { KubernetesClient, ListResponse } from './kubernetes-client.js';

/** Maximum number of objects per page, so that parsing a page does not block the event loop. */
const MAX_OBJECTS = 250;
const FIRST_OBJECTS = 50;
const TARGET_BYTES = 4 * 1024 * 1024;
/** If a page is larger, it is requested again with fewer objects. */
const MAX_PAGE_BYTES = 8 * 1024 * 1024;
/** A cluster stores objects of up to 1.5 MiB unless its etcd has a different limit. */
const MAX_OBJECT_BYTES = 16 * 1024 * 1024;
const SHRINK_FACTOR = 4;
const GROWTH_FACTOR = 2;

interface ObjectPage {
  readonly items: readonly unknown[];
  /** The version from which a watch continues; it is the same on all pages. */
  readonly resourceVersion: string;
}

/**
 * Lists the objects of a collection in pages. Pages contain fewer objects if the objects are larger.
 *
 * @throws ClusterError
 */
export async function* listObjects(
  client: KubernetesClient,
  collection: ResourceCollection,
  signal: AbortSignal,
): AsyncGenerator<ObjectPage> {
  let limit = FIRST_OBJECTS;
  let next = '';
  for (;;) {
    const response = await readPage(client, collection, { limit, next }, signal);
    if (response === null) limit = Math.max(1, Math.floor(limit / SHRINK_FACTOR));
    else {
      const page = parsePage(collection, response.json);
      yield page;
      if (page.next === '') return;
      next = page.next;
      limit = nextLimit(limit, page.items.length, response.bytes);
    }
  }
}

/** Returns null if the page is too large and the limit can be lowered. */
async function readPage(
  client: KubernetesClient,
  collection: ResourceCollection,
  { limit, next }: { limit: number; next: string },
  signal: AbortSignal,
): Promise<ListResponse | null> {
  const query = { limit: String(limit), ...(next === '' ? {} : { continue: next }) };
  try {
    return await client.list(collection, query, signal, limit === 1 ? MAX_OBJECT_BYTES : MAX_PAGE_BYTES);
  } catch (error) {
    if (!(error instanceof ResponseTooLarge)) throw error;
    if (limit === 1) throw objectTooLarge(collection);
    return null;
  }
}

/** Returns the current resource version of a collection, by listing the metadata of one object. */
export async function readNewestVersion(
  client: KubernetesClient,
  collection: ResourceCollection,
  signal: AbortSignal,
): Promise<string> {
  const metadataOnly = { ...collection, needsSpec: false };
  const { json } = await client.list(metadataOnly, { limit: '1' }, signal, MAX_OBJECT_BYTES);
  return parsePage(collection, json).resourceVersion;
}

/**
 * Returns the limit for the next page: the number of objects that fit into the target size, but at most twice the last
 * limit, because later objects may be larger.
 */
export function nextLimit(limit: number, objects: number, bytes: number): number {
  if (objects === 0) return limit;
  const fitting = Math.floor((TARGET_BYTES * objects) / bytes);
  return Math.max(1, Math.min(fitting, limit * GROWTH_FACTOR, MAX_OBJECTS));
}

function parsePage(collection: ResourceCollection, value: unknown): ObjectPage & { readonly next: string } {
  const items = member(value, 'items');
  const metadata = member(value, 'metadata');
  const next = member(metadata, 'continue');
  const resourceVersion = member(metadata, 'resourceVersion');
  if (!Array.isArray(items) || typeof resourceVersion !== 'string')
    throw new ClusterError(
      `The API server's list of ${describeCollection(collection)} has no items or no resource version`,
    );
  return { items, next: typeof next === 'string' ? next : '', resourceVersion };
}

function objectTooLarge(collection: ResourceCollection): ClusterError {
  return new ClusterError(
    `Cannot list ${describeCollection(collection)}: an object is larger than ${MAX_OBJECT_BYTES / 1024 / 1024} MiB`,
  );
}
