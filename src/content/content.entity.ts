import { Check, Column, Entity, Index, JoinColumn, ManyToOne, PrimaryColumn } from 'typeorm';
import { isOneOf, Timestamp } from '../database/statements.js';
import { EntryVersion } from '../entries/entry.entity.js';

/** One file, by the SHA-256 of its bytes. */
@Entity('content_blob')
export class ContentBlob {
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'content_blob_pkey' })
  digest: Buffer;

  @Column({ type: 'integer' })
  bytes: number;
}

/** A part of a file; `CHUNK_BYTES` long, unless it is the last one. */
@Entity('content_chunk')
export class ContentChunk {
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'content_chunk_pkey' })
  blob: Buffer;

  @ManyToOne(() => ContentBlob, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'blob', foreignKeyConstraintName: 'content_chunk_blob_fkey' })
  file: ContentBlob;

  /** From 0. */
  @PrimaryColumn({ type: 'integer', primaryKeyConstraintName: 'content_chunk_pkey' })
  position: number;

  @Column({ type: 'bytea' })
  data: Buffer;
}

/** A list of files, by its digest (`treeDigest`). */
@Entity('content_tree')
export class ContentTree {
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'content_tree_pkey' })
  digest: Buffer;

  /** The sum of the files' sizes. */
  @Column({ type: 'integer' })
  bytes: number;
}

/** A file of a tree. */
@Entity('content_file')
@Index('content_file_blob', ['blob'])
export class ContentFile {
  @PrimaryColumn({ type: 'bytea', primaryKeyConstraintName: 'content_file_pkey' })
  tree: Buffer;

  @ManyToOne(() => ContentTree, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'tree', foreignKeyConstraintName: 'content_file_tree_fkey' })
  list: ContentTree;

  @PrimaryColumn({ type: 'text', collation: 'C', primaryKeyConstraintName: 'content_file_pkey' })
  path: string;

  @Column({ type: 'bytea' })
  blob: Buffer;

  @ManyToOne(() => ContentBlob)
  @JoinColumn({ name: 'blob', foreignKeyConstraintName: 'content_file_blob_fkey' })
  file: ContentBlob;

  @Column({ name: 'is_executable', type: 'boolean' })
  isExecutable: boolean;
}

/** `stored`: served; `pending`: to be fetched; `failed`: to be fetched again; `none`: no content is known. */
export const CONTENT_STATUSES = ['stored', 'pending', 'failed', 'none'] as const;
export type ContentStatus = (typeof CONTENT_STATUSES)[number];

/** The content of one version. A version without a row has no content. */
@Entity('version_content')
@Check('version_content_status_check', isOneOf('status', CONTENT_STATUSES))
@Index('version_content_tree', ['tree'], { where: 'tree is not null' })
@Index('version_content_due', ['nextAttemptAt'], { where: 'next_attempt_at is not null' })
export class VersionContent {
  @PrimaryColumn({ name: 'version_id', type: 'bigint', primaryKeyConstraintName: 'version_content_pkey' })
  versionId: string;

  @ManyToOne(() => EntryVersion, { onDelete: 'CASCADE' })
  @JoinColumn({ name: 'version_id', foreignKeyConstraintName: 'version_content_version_id_fkey' })
  version: EntryVersion;

  @Column({ type: 'text' })
  status: ContentStatus;

  /** Set exactly while the status is `stored`. */
  @Column({ type: 'bytea', nullable: true })
  tree: Buffer | null;

  @ManyToOne(() => ContentTree)
  @JoinColumn({ name: 'tree', foreignKeyConstraintName: 'version_content_tree_fkey' })
  list: ContentTree | null;

  /** The package that the content is fetched from, as one text to compare; null for uploads. */
  @Column({ type: 'text', nullable: true })
  origin: string | null;

  /** The digest of the document when its packages were last looked at. */
  @Column({ name: 'document_digest', type: 'bytea', nullable: true })
  documentDigest: Buffer | null;

  /** Why fetching failed, as a sentence for the operator. */
  @Column({ type: 'text', nullable: true })
  error: string | null;

  /** Failed attempts in a row. */
  @Column({ type: 'integer', default: 0 })
  attempts: number;

  @Timestamp({ name: 'next_attempt_at', nullable: true })
  nextAttemptAt: Date | null;
}
