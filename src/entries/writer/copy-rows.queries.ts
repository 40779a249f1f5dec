import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { EntityManager } from 'typeorm';
import type { IncomingVersion } from '../../documents/incoming-version.js';
import { versionKey } from '../../documents/versions.js';
import type { EntryVersion } from '../entry.entity.js';

/** Encoded and sent at a time: well below a millisecond. */
const CHUNK_BYTES = 256 * 1024;
const MAX_BYTES_PER_CHARACTER = 3;
/** Flags and the length of a header extension follow: there are none. */
const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const END_OF_ROWS = -1;
const NULL_LENGTH = -1;
/** Milliseconds from 1970 to 2000, where PostgreSQL counts from. */
const EPOCH_MS = 946_684_800_000n;

/**
 * Sends rows with COPY, in its binary format: nothing is escaped, and PostgreSQL stores some while others are still encoded.
 *
 * @param statement `copy … from stdin (format binary)`.
 * @param rows asked for piece by piece, so that others have their turn in between.
 * @param write writes one row: `begin`, and its columns in the order of the statement.
 */
export async function copyRows<T>(
  manager: EntityManager,
  statement: string,
  rows: Iterable<T>,
  write: (row: RowWriter, item: T) => void,
): Promise<void> {
  const { queryRunner } = manager;
  if (!queryRunner) throw new Error('Rows are copied within a transaction');
  const client = (await queryRunner.connect()) as pg.ClientBase;
  await pipeline(Readable.from(chunksOf(rows, write)), client.query(copyFrom(statement)));
}

function* chunksOf<T>(rows: Iterable<T>, write: (row: RowWriter, item: T) => void): Generator<Buffer> {
  const writer = new RowWriter();
  for (const row of rows) {
    write(writer, row);
    if (writer.length >= CHUNK_BYTES) yield writer.take();
  }
  yield writer.end();
}

/** Values as the binary format of COPY has them: each with its length before it. */
export class RowWriter {
  /** Of what has been written since `take`. */
  length = 0;
  private chunk = Buffer.allocUnsafeSlow(2 * CHUNK_BYTES);

  constructor() {
    this.append(HEADER);
  }

  begin(columns: number): void {
    this.reserve(2);
    this.length = this.chunk.writeInt16BE(columns, this.length);
  }

  text(value: string | null): void {
    if (value === null) return this.int32(NULL_LENGTH);
    this.reserve(4 + value.length * MAX_BYTES_PER_CHARACTER);
    const bytes = this.chunk.write(value, this.length + 4);
    this.chunk.writeInt32BE(bytes, this.length);
    this.length += 4 + bytes;
  }

  /** The value of a bytea, or a text that is in UTF-8 already. */
  bytes(value: Buffer): void {
    this.int32(value.length);
    this.append(value);
  }

  boolean(value: boolean): void {
    this.int32(1);
    this.reserve(1);
    this.length = this.chunk.writeInt8(value ? 1 : 0, this.length);
  }

  bigint(value: bigint): void {
    this.int32(8);
    this.reserve(8);
    this.length = this.chunk.writeBigInt64BE(value, this.length);
  }

  time(value: Date): void {
    this.bigint((BigInt(value.getTime()) - EPOCH_MS) * 1_000n);
  }

  /** What has been written, which whoever takes it may keep. */
  take(): Buffer {
    const taken = this.chunk.subarray(0, this.length);
    this.chunk = Buffer.allocUnsafeSlow(2 * CHUNK_BYTES);
    this.length = 0;
    return taken;
  }

  /** The same, with the mark that no row follows. */
  end(): Buffer {
    this.reserve(2);
    this.length = this.chunk.writeInt16BE(END_OF_ROWS, this.length);
    return this.chunk.subarray(0, this.length);
  }

  private int32(value: number): void {
    this.reserve(4);
    this.length = this.chunk.writeInt32BE(value, this.length);
  }

  private append(bytes: Buffer): void {
    this.reserve(bytes.length);
    bytes.copy(this.chunk, this.length);
    this.length += bytes.length;
  }

  private reserve(bytes: number): void {
    if (this.length + bytes <= this.chunk.length) return;
    const wider = Buffer.allocUnsafeSlow(2 * (this.length + bytes));
    this.chunk.copy(wider, 0, 0, this.length);
    this.chunk = wider;
  }
}

/** What is written of a version, beside its entry, whether it is the latest, who published it, and the document. */
export type VersionColumns = Omit<
  EntryVersion,
  'id' | 'entryId' | 'entry' | 'isLatest' | 'publishedBy' | 'document'
>;

/** What decides of a version that is stored already. Times are milliseconds since 1970. */
interface Stored {
  readonly status: string;
  readonly statusChangedAt: number;
  readonly publishedAt: number;
}

/**
 * The columns of a version that is written `now`. Times that its source does not give are those that were stored, or `now`
 * where there are none; so the key of its order always fits its time of publication.
 */
export function versionColumns(incoming: IncomingVersion, now: Date, stored?: Stored): VersionColumns {
  const { version, digest, searchText, status, statusMessage = null } = incoming;
  const publishedAt = incoming.publishedAt ?? (stored ? new Date(stored.publishedAt) : now);
  const unchangedSince = stored?.status === status ? new Date(stored.statusChangedAt) : now;
  return {
    version,
    versionKey: versionKey(version, publishedAt, incoming.isUpstreamLatest),
    digest,
    search: searchText,
    status,
    statusMessage,
    statusChangedAt: incoming.statusChangedAt ?? unchangedSince,
    publishedAt,
    updatedAt: now,
  };
}

/** The key of a version whose columns are otherwise as they are stored: another one when its place in the order has changed. */
export function versionKeyOf(
  { version, publishedAt, isUpstreamLatest }: IncomingVersion,
  stored: Pick<Stored, 'publishedAt'>,
): string {
  return versionKey(version, publishedAt ?? new Date(stored.publishedAt), isUpstreamLatest);
}
