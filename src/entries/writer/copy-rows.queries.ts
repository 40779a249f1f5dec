import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { EntityManager } from 'typeorm';

/** Chunk size; encoding a chunk takes well under a millisecond. */
const CHUNK_BYTES = 256 * 1024;
const MAX_BYTES_PER_CHARACTER = 3;
/** Signature, flags, and an empty header extension. */
const HEADER = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const END_OF_ROWS = -1;
const NULL_LENGTH = -1;
/** Milliseconds from 1970 to 2000, PostgreSQL's epoch. */
const EPOCH_MS = 946_684_800_000n;

/**
 * Sends rows with binary COPY, which needs no escaping and lets PostgreSQL store rows while the next ones are encoded.
 *
 * @param statement `copy … from stdin (format binary)`.
 * @param rows encoded in chunks; the function yields to the event loop between chunks.
 * @param write writes one row: calls `begin`, then writes the columns in the statement's order.
 */
export async function copyRows<T>(
  manager: EntityManager,
  statement: string,
  rows: Iterable<T>,
  write: (row: RowWriter, item: T) => void,
): Promise<void> {
  const { queryRunner } = manager;
  if (!queryRunner) throw new Error('copyRows requires a transaction');
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

/** Encodes values in the binary COPY format, each preceded by its length. */
export class RowWriter {
  /** Bytes written since the last `take`. */
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

  /** Writes a bytea, or a text already in UTF-8. */
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

  /** Returns the bytes written and starts a new chunk. */
  take(): Buffer {
    const taken = this.chunk.subarray(0, this.length);
    this.chunk = Buffer.allocUnsafeSlow(2 * CHUNK_BYTES);
    this.length = 0;
    return taken;
  }

  /** Returns the remaining bytes, followed by the end-of-rows marker. */
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
