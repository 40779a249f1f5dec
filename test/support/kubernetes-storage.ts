import { randomUUID } from 'node:crypto';
import type { Document } from './documents.js';
import type { Change, ClusterObject } from './kubernetes-watchers.js';

export const GROUP = 'toolhive.stacklok.dev';
export const PLURALS = {
  MCPServer: 'mcpservers',
  VirtualMCPServer: 'virtualmcpservers',
  MCPRemoteProxy: 'mcpremoteproxies',
};
export type Kind = keyof typeof PLURALS;

type Objects = ReadonlyMap<string, Map<string, ClusterObject>>;

/** A complete etcd snapshot. */
export interface Backup {
  readonly revision: number;
  readonly objects: Objects;
}

/** Objects with resource versions, and a history that can be compacted. */
export class KubernetesStorage {
  revision = 1000;
  compactedAt = 0;
  history: Change[] = [];
  private isMuted = false;
  private objects: Objects = new Map(Object.values(PLURALS).map((plural) => [plural, new Map()]));
  /** Snapshots of lists in progress, by revision. */
  private readonly snapshots = new Map<string, ClusterObject[]>();

  constructor(private readonly onChange: (change: Change) => void) {}

  /** Creates or replaces the object. Annotations are given without their prefix. */
  put(kind: Kind, place: string, annotations: Record<string, string>, spec: Document): void {
    const [namespace = '', name = ''] = place.split('/');
    const plural = PLURALS[kind];
    const before = this.of(plural).get(place);
    const prefixed = Object.entries(annotations).map(([key, value]) => [`${GROUP}/${key}`, value]);
    // Omits kind and apiVersion of listed objects, like a real API server.
    const object: ClusterObject = {
      metadata: {
        namespace,
        name,
        uid: before?.metadata.uid ?? randomUUID(),
        resourceVersion: String(++this.revision),
        annotations: Object.fromEntries(prefixed) as Record<string, string>,
      },
      spec,
    };
    this.of(plural).set(place, object);
    this.happened({ at: this.revision, plural, type: before ? 'MODIFIED' : 'ADDED', object });
  }

  delete(kind: Kind, place: string): void {
    const plural = PLURALS[kind];
    const object = this.of(plural).get(place);
    if (!object) throw new Error(`There is no ${kind} ${place}`);
    this.of(plural).delete(place);
    const resourceVersion = String(++this.revision);
    const last = { ...object, metadata: { ...object.metadata, resourceVersion } };
    this.happened({ at: this.revision, plural, type: 'DELETED', object: last });
  }

  compact(): void {
    this.history = [];
    this.compactedAt = this.revision;
  }

  unnoticed(edit: () => void): void {
    this.isMuted = true;
    edit();
    this.isMuted = false;
  }

  backUp(): Backup {
    return { revision: this.revision, objects: copyOf(this.objects) };
  }

  restore({ revision, objects }: Backup): void {
    this.objects = copyOf(objects);
    this.revision = revision;
    this.snapshots.clear();
    this.compact();
  }

  /** Returns the objects from a position on, and how many remain. All pages of a list have the same revision. */
  page(
    plural: string,
    namespace: string | null,
    { at, start, limit }: { at: number; start: number; limit: number },
  ): { items: ClusterObject[]; remaining: number } {
    const key = `${plural} ${namespace} ${at}`;
    const all = (start > 0 && this.snapshots.get(key)) || [...this.of(plural).values()];
    const now = all.filter((object) => namespace === null || object.metadata.namespace === namespace);
    this.snapshots.set(key, now);
    const items = now.slice(start, start + limit);
    return { items, remaining: now.length - start - items.length };
  }

  private of(plural: string): Map<string, ClusterObject> {
    const objects = this.objects.get(plural);
    if (!objects) throw new Error(`No resource ${plural}`);
    return objects;
  }

  private happened(change: Change): void {
    if (this.isMuted) return;
    this.history.push(change);
    this.onChange(change);
  }
}

function copyOf(objects: Objects): Objects {
  return new Map([...objects].map(([plural, those]) => [plural, new Map(those)]));
}
