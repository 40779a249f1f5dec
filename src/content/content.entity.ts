import {
  Check,
  Column,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  type Relation,
  Unique,
} from 'typeorm';
import { AdmissionItem } from '../admission/admission.entity.js';
import { BigIdColumn, Timestamp } from '../database/columns.js';
import { EntryVersion } from '../entry-store/entry.entity.js';
import type { Members } from '../members/members.responses.js';
import type { PluginServers } from '../members/plugin-servers.js';
import { Source } from '../sources/source.entity.js';

/** A hexadecimal digest, stored as bytes. TypeORM may convert a value twice. */
const HEX = {
  from: (value: Buffer) => value.toString('hex'),
  to: (value: string | Buffer) => (typeof value === 'string' ? Buffer.from(value, 'hex') : value),
};

const NULLABLE_HEX = {
  from: (value: Buffer | null) => value && HEX.from(value),
  to: (value: string | Buffer | null) => value && HEX.to(value),
};

/** One file, by the SHA-256 of its bytes. */
@Entity('content_blob')
export class ContentBlob {
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'content_blob_pkey', transformer: HEX })
  digest: string;

  @Column({ type: 'integer' })
  bytes: number;
}

/** A chunk of a file; `CHUNK_BYTES` long, unless it is the last one. */
@Entity('content_chunk')
export class ContentChunk {
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'content_chunk_pkey', transformer: HEX })
  blob: string;

  @ManyToOne(() => ContentBlob, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'blob', foreignKeyConstraintName: 'content_chunk_blob_fkey' })
  file: ContentBlob;

  /** Starts at 0. */
  @PrimaryColumn({ type: 'integer', primaryKeyConstraintName: 'content_chunk_pkey' })
  position: number;

  @Column({ type: 'bytea' })
  data: Buffer;
}

/** A list of files, by its digest (`treeDigest`). */
@Entity('content_tree')
export class ContentTree {
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'content_tree_pkey', transformer: HEX })
  digest: string;

  /** The sum of the files' sizes. */
  @Column({ type: 'integer' })
  bytes: number;

  /** The members that clients find in the files. */
  @Column({ type: 'jsonb' })
  members: Members;

  /** The servers in the files, as listed in client policies. */
  @Column({ name: 'plugin_servers', type: 'jsonb' })
  pluginServers: PluginServers;

  /** The tokens that searches compare: see `memberTokens`. */
  @Column({ name: 'member_tokens', type: 'text', array: true })
  memberTokens: readonly string[];

  /** The version of the function that read the members: see `MEMBERS_VERSION`. */
  @Column({ name: 'members_version', type: 'integer' })
  membersVersion: number;
}

/** A file of a tree. */
@Entity('content_file')
@Index('content_file_blob', ['blob'])
export class ContentFile {
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'content_file_pkey', transformer: HEX })
  tree: string;

  @ManyToOne(() => ContentTree, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'tree', foreignKeyConstraintName: 'content_file_tree_fkey' })
  list: ContentTree;

  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'content_file_pkey' })
  path: string;

  @Column({ type: 'bytea', transformer: HEX })
  blob: string;

  @ManyToOne(() => ContentBlob)
  @JoinColumn({ name: 'blob', foreignKeyConstraintName: 'content_file_blob_fkey' })
  file: ContentBlob;

  @Column({ name: 'is_executable', type: 'boolean' })
  isExecutable: boolean;
}

/**
 * Where the content of a version comes from, and when to fetch it. The version is served, or held until it has content.
 * Versions whose document lists no packages have no row.
 */
@Entity('content_fetch')
@Unique('content_fetch_version_id_key', ['versionId'])
@Unique('content_fetch_item_id_key', ['itemId'])
@Check('content_fetch_check', 'num_nonnulls(version_id, item_id) = 1')
@Index('content_fetch_due', ['sourceId', 'fetchAt'], { where: 'fetch_at is not null' })
export class ContentFetch {
  @BigIdColumn('content_fetch')
  id: string;

  @Column({ name: 'version_id', type: 'bigint', nullable: true })
  versionId: string | null;

  @ManyToOne(() => EntryVersion, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'version_id', foreignKeyConstraintName: 'content_fetch_version_id_fkey' })
  version: Relation<EntryVersion> | null;

  @Column({ name: 'item_id', type: 'uuid', nullable: true })
  itemId: string | null;

  @ManyToOne(() => AdmissionItem, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'item_id', foreignKeyConstraintName: 'content_fetch_item_id_fkey' })
  item: Relation<AdmissionItem> | null;

  /** Lets sources take turns. */
  @Column({ name: 'source_id', type: 'integer' })
  sourceId: number;

  /** The packages of the document, for comparison; null once it has none. */
  @Column({ type: 'text', nullable: true })
  packages: string | null;

  /** The commit or digest to which a tag or branch was resolved. */
  @Column({ type: 'text', nullable: true })
  pin: string | null;

  @Column({ type: 'integer', default: 0 })
  attempts: number;

  @Timestamp({ name: 'queued_at', default: () => 'now()' })
  queuedAt: Date;

  /** Null once the content is stored. */
  @Timestamp({ name: 'fetch_at', nullable: true })
  fetchAt: Date | null;

  /** Why the last attempt failed. */
  @Column({ type: 'text', nullable: true })
  error: string | null;
}

/** The content of one version. A version without a row has no content. */
@Entity('version_content')
@Index('version_content_tree', ['tree'])
export class VersionContent {
  @PrimaryColumn({ name: 'version_id', type: 'bigint', primaryKeyConstraintName: 'version_content_pkey' })
  versionId: string;

  @ManyToOne(() => EntryVersion, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'version_id', foreignKeyConstraintName: 'version_content_version_id_fkey' })
  version: EntryVersion;

  @Column({ type: 'bytea', transformer: HEX })
  tree: string;

  @ManyToOne(() => ContentTree)
  @JoinColumn({ name: 'tree', foreignKeyConstraintName: 'version_content_tree_fkey' })
  list: ContentTree;
}

/** A folder of a source's repository. Its content is stored before its version is; see `VersionFolder`. */
@Entity('source_folder')
@Index('source_folder_tree', ['tree'], { where: 'tree is not null' })
export class SourceFolder {
  @PrimaryColumn({ name: 'source_id', type: 'integer', primaryKeyConstraintName: 'source_folder_pkey' })
  sourceId: number;

  @ManyToOne(() => Source, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'source_id', foreignKeyConstraintName: 'source_folder_source_id_fkey' })
  source: Source;

  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'source_folder_pkey', transformer: HEX })
  key: string;

  /** The commit in the document's package. */
  @Column({ type: 'text' })
  commit: string;

  /** Null if the folder was refused. */
  @Column({ type: 'bytea', nullable: true, transformer: NULLABLE_HEX })
  tree: string | null;

  @ManyToOne(() => ContentTree)
  @JoinColumn({ name: 'tree', foreignKeyConstraintName: 'source_folder_tree_fkey' })
  list: Relation<ContentTree> | null;

  /** Why it was refused. */
  @Column({ type: 'text', nullable: true })
  error: string | null;
}
