import { expect, it } from 'vitest';
import { isSvg, rasterImageIn } from './images.js';

function png(width: number, height: number): Buffer {
  const bytes = Buffer.alloc(24);
  bytes.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
}

function webp(kind: string, write: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.alloc(30);
  bytes.write(`RIFF\0\0\0\0WEBP${kind}`, 'latin1');
  write(bytes);
  return bytes;
}

const JPEG = Buffer.from('ffd8ffe000044a46ffc0000b0800100020010100', 'hex');

it.each([
  ['PNG', png(64, 32), { type: 'image/png', width: 64, height: 32 }],
  ['GIF', Buffer.from('GIF89a\x20\0\x10\0', 'latin1'), { type: 'image/gif', width: 32, height: 16 }],
  ['JPEG', JPEG, { type: 'image/jpeg', width: 32, height: 16 }],
  [
    'extended WebP',
    webp('VP8X', (bytes) => (bytes.writeUIntLE(31, 24, 3), bytes.writeUIntLE(15, 27, 3))),
    { type: 'image/webp', width: 32, height: 16 },
  ],
  [
    'lossy WebP',
    webp('VP8 ', (bytes) => (bytes.writeUInt16LE(32, 26), bytes.writeUInt16LE(16, 28))),
    { type: 'image/webp', width: 32, height: 16 },
  ],
  [
    'lossless WebP',
    webp('VP8L', (bytes) => bytes.writeUInt32LE(31 | (15 << 14), 21)),
    { type: 'image/webp', width: 32, height: 16 },
  ],
])('reads the size of a %s image', (_, bytes, image) => expect(rasterImageIn(bytes)).toEqual(image));

it.each([
  ['nothing', ''],
  ['a PNG that ends in its header', png(1, 1).subarray(0, 20)],
  ['a PNG without IHDR', Buffer.concat([png(1, 1).subarray(0, 12), Buffer.alloc(12)])],
  ['a JPEG without a frame', Buffer.from('ffd8ffe000044a46', 'hex')],
  ['a JPEG with a segment of no length', Buffer.from(`ffd8ffe00000${'00'.repeat(20)}`, 'hex')],
  ['a RIFF file of another kind', Buffer.from(`RIFF\0\0\0\0WAVEfmt ${' '.repeat(20)}`)],
  ['SVG', '<svg xmlns="http://www.w3.org/2000/svg"/>'],
  ['HTML', '<!doctype html><script>1</script>'],
  ['a PNG behind HTML', Buffer.concat([Buffer.from('<script>'), png(1, 1)])],
])('refuses %s', (_, bytes) => expect(rasterImageIn(Buffer.from(bytes))).toBeNull());

it.each([
  ['<svg xmlns="http://www.w3.org/2000/svg"/>', true],
  ['\ufeff<?xml version="1.0"?>\n<!-- mark -->\n<svg>', true],
  ['<html><svg>', false],
  ['<svgx>', false],
  ['<!-- one --> <!-- two --><svg>', true],
  // Each comment could end at each later `-->`.
  ['<!---->'.repeat(140), false],
])('isSvg(%j) is %s', (text, expected) => expect(isSvg(Buffer.from(text))).toBe(expected));
