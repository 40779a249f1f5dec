import { expect, it } from 'vitest';
import { RowWriter } from './copy-rows.queries.js';

const HEADER = '5047434f50590aff0d0a00' + '0000000000000000';
const written = (write: (row: RowWriter) => void) => {
  const row = new RowWriter();
  write(row);
  return row.end().toString('hex').slice(HEADER.length, -4);
};

// See "Binary Format" in PostgreSQL's COPY documentation: a 16-bit column count, then each column after its 32-bit length.
it.each<[string, (row: RowWriter) => void, string]>([
  ['the number of columns', (row) => row.begin(3), '0003'],
  ['a text in UTF-8', (row) => row.text('ж✓'), '00000005' + 'd0b6e29c93'],
  ['null', (row) => row.text(null), 'ffffffff'],
  ['an empty text', (row) => row.text(''), '00000000'],
  ['bytes', (row) => row.bytes(Buffer.from([1, 255])), '00000002' + '01ff'],
  ['true', (row) => row.boolean(true), '00000001' + '01'],
  ['an id', (row) => row.bigint(2n ** 40n), '00000008' + '0000010000000000'],
  [
    'a time, in microseconds since 2000',
    (row) => row.time(new Date('2000-01-01T00:00:01.5Z')),
    '00000008' + '000000000016e360',
  ],
  [
    'a time before 2000',
    (row) => row.time(new Date('1999-12-31T23:59:59Z')),
    '00000008' + 'fffffffffff0bdc0',
  ],
])('writes %s', (_what, write, hex) => expect(written(write)).toBe(hex));

it('writes the header once, ends with -1, and grows as needed', () => {
  const row = new RowWriter();
  row.text('x'.repeat(2_000_000));
  expect(row.take()).toHaveLength(HEADER.length / 2 + 4 + 2_000_000);
  row.boolean(false);
  expect(row.end().toString('hex')).toBe('0000000100' + 'ffff');
});
