import { API_GROUP, type Resource } from './resources.js';

/** What is listed and watched: the objects of a kind, in one namespace or in all of them. */
export interface Place {
  readonly plural: string;
  /** Null: all of them. */
  readonly namespace: string | null;
  readonly path: string;
}

export function placeOf({ plural }: Resource, namespace: string | null, version: string): Place {
  const inside = namespace === null ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return { plural, namespace, path: `/apis/${API_GROUP}/${version}${inside}/${plural}` };
}
