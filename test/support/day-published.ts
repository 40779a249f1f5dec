import { aDated, keyOf, type Listing, listingOf } from './day-content.js';
import type { DayReplica } from './day-replica.js';
import type { DayUpstream } from './day-upstreams.js';
import type { Document } from './documents.js';
import { exported } from './cluster-objects.js';
import type { KubernetesApi } from './kubernetes-api.js';
import { entryAt } from './publishing.js';
import type { Random } from './random.js';

/** The managed source: filled by publishing, without upstream. */
export class DayPublished implements DayUpstream {
  private readonly held = new Map<string, { server: Document; status: string }>();
  private published = 0;

  constructor(
    readonly name: string,
    private readonly random: Random,
    private readonly replica: () => DayReplica,
  ) {}

  readonly declared = () => ({ managed: {} });

  get listing(): Listing {
    return listingOf([...this.held.values()]);
  }

  async change(): Promise<void> {
    if (this.held.size > 20) return this.withdraw();
    this.published += 1;
    const server = aDated(
      `io.day/published-${this.random.between(0, 5)}`,
      `1.${this.published}.0`,
      this.published,
    );
    const reply = await this.replica().ask('/v1/entries', 'POST', { server });
    if (reply.status !== 201) throw new Error(`Publishing answered ${reply.status} ${reply.text}`);
    this.held.set(keyOf(server), { server, status: 'active' });
  }

  fail(): void {}

  recover(): void {}

  private async withdraw(): Promise<void> {
    const { server } = this.random.pick([...this.held.values()]);
    const path = entryAt('server', String(server['name']), `/versions/${String(server['version'])}`);
    const reply = await this.replica().ask(path, 'DELETE');
    if (reply.status !== 204) throw new Error(`Withdrawing answered ${reply.status} ${reply.text}`);
    this.held.delete(keyOf(server));
  }
}

/** How many distinct claims the cluster's objects have. */
export const CLAIM_SETS = 5;

/** One watched namespace of a cluster. */
export class DayNamespace implements DayUpstream {
  private readonly held = new Map<string, number>();
  private generation = 0;

  constructor(
    readonly name: string,
    private readonly cluster: KubernetesApi,
    private readonly random: Random,
  ) {
    this.put('first');
  }

  readonly declared = () => ({ kubernetes: { namespaces: [this.name] } });

  get listing(): Listing {
    return listingOf(
      [...this.held].map(([name, generation]) => ({
        server: {
          name: `com.toolhive.k8s.${this.name}/${name}`,
          version: '1.0.0',
          description: `Generation ${generation}`,
        },
        status: 'active',
      })),
    );
  }

  change(): void {
    const name = `server-${this.random.between(0, 9)}`;
    if (this.held.has(name) && this.random.chance(0.5)) {
      this.held.delete(name);
      this.cluster.delete('MCPServer', `${this.name}/${name}`);
    } else this.put(name);
  }

  fail(): void {
    if (this.random.chance(0.5)) this.cluster.compact();
    this.cluster.breakWatches({ midLine: this.random.chance(0.5) });
  }

  recover(): void {
    this.cluster.bookmark();
  }

  private put(name: string): void {
    this.generation += 1;
    this.held.set(name, this.generation);
    const annotations = exported(name, {
      'registry-description': `Generation ${this.generation}`,
      'authz-claims': JSON.stringify({ team: `team-${this.generation % CLAIM_SETS}` }),
    });
    this.cluster.put('MCPServer', `${this.name}/${name}`, annotations);
  }
}
