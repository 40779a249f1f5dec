import {
  Check,
  Column,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  OneToMany,
  PrimaryColumn,
  type Relation,
  Unique,
} from 'typeorm';
import { ClaimSet, ClaimSetId, ClaimSetOf, GivenClaims } from '../claim-sets/claim-sets.repository.js';
import { asGiven, type Claims } from '../claims/claims.js';
import type { MarketplaceConfig, Origin } from '../config/config.js';
import type { RegistryKey } from '../config/registry-keys.js';
import type { StoredRegistrySettings } from '../config/registry-settings.dto.js';
import { Source } from '../sources/source.entity.js';
import { BytewiseText, IdColumn, Timestamp } from '../database/columns.js';

const SOURCES_PRIMARY_KEY = 'registry_source_pkey';

/** The position of a source in a registry. */
@Entity('registry_source')
@Unique('registry_source_registry_id_source_id_key', ['registryId', 'sourceId'])
@Index('registry_source_source', ['sourceId'])
export class RegistrySource {
  @PrimaryColumn({ name: 'registry_id', type: 'integer', primaryKeyConstraintName: SOURCES_PRIMARY_KEY })
  registryId: number;

  /** Starts at 1. */
  @PrimaryColumn({ type: 'integer', primaryKeyConstraintName: SOURCES_PRIMARY_KEY })
  position: number;

  @Column({ name: 'source_id', type: 'integer' })
  sourceId: number;

  @ManyToOne(() => Registry, (registry) => registry.sources, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'registry_id', foreignKeyConstraintName: 'registry_source_registry_id_fkey' })
  registry: Relation<Registry>;

  /** The foreign key prevents the deletion of a source in use. */
  @ManyToOne(() => Source, { onDelete: 'RESTRICT' })
  @JoinColumn({ name: 'source_id', foreignKeyConstraintName: 'registry_source_source_id_fkey' })
  source: Source;
}

/** A named view of an ordered list of sources. */
@Entity('registry')
@Unique('registry_name_key', ['name'])
@Check('registry_origin_check', `origin in ('config', 'api')`)
export class Registry implements StoredRegistrySettings {
  @IdColumn('registry')
  id: number;

  @BytewiseText()
  name: string;

  @ClaimSetId()
  claimSetId: number;

  @ClaimSetOf('registry')
  claimSet: ClaimSet;

  @GivenClaims()
  givenClaims: Claims | null;

  /** The claims granted to callers without a token; null if such callers are refused. */
  @Column({ name: 'anonymous_claims', type: 'jsonb', nullable: true })
  anonymousClaims: Claims | null;

  @Column({ type: 'jsonb', default: [] })
  keys: readonly RegistryKey[];

  /** The claims given to entries published through the registry; null if publishing is disabled. */
  @Column({ name: 'publish_claims', type: 'jsonb', nullable: true })
  publishClaims: Claims | null;

  /** Null if the registry is not served as a marketplace. */
  @Column({ type: 'jsonb', nullable: true })
  marketplace: MarketplaceConfig | null;

  @Column({ type: 'text' })
  origin: Origin;

  /** The position in the configuration; 0 for registries created through the API. */
  @Column({ type: 'integer' })
  position: number;

  @Timestamp({ name: 'created_at', default: () => 'now()' })
  createdAt: Date;

  @Timestamp({ name: 'updated_at', default: () => 'now()' })
  updatedAt: Date;

  /** The sources in order of precedence: earlier ones shadow later ones. */
  @OneToMany(() => RegistrySource, (source) => source.registry)
  sources: RegistrySource[];

  /** The claims required to enter the registry. */
  get claims(): Claims {
    return this.claimSet.claims;
  }

  /** The claims as they were given, for responses. */
  get shownClaims(): Claims {
    return asGiven(this.claims, this.givenClaims);
  }

  get sourceNames(): string[] {
    return this.sources.map(({ source }) => source.name);
  }
}
