/** Image formats that browsers can safely show from any source: none of them can contain scripts, or load anything. */
type RasterType = 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';

export interface RasterImage {
  readonly type: RasterType;
  readonly width: number;
  readonly height: number;
}

/** A JPEG must state its size within this many bytes; thumbnails and profiles come first. */
const MAX_JPEG_HEADER = 128 * 1_024;

/** Reads the type and size of an image from its first bytes; null for everything else, such as SVG. */
export function rasterImageIn(bytes: Buffer): RasterImage | null {
  return pngIn(bytes) ?? gifIn(bytes) ?? webpIn(bytes) ?? jpegIn(bytes);
}

function pngIn(bytes: Buffer): RasterImage | null {
  if (bytes.length < 24 || bytes.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') return null;
  if (bytes.toString('latin1', 12, 16) !== 'IHDR') return null;
  return { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function gifIn(bytes: Buffer): RasterImage | null {
  if (bytes.length < 10 || !/^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6))) return null;
  return { type: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

/** https://developers.google.com/speed/webp/docs/riff_container */
function webpIn(bytes: Buffer): RasterImage | null {
  if (bytes.length < 30 || bytes.toString('latin1', 0, 4) !== 'RIFF') return null;
  const type = 'image/webp';
  switch (bytes.toString('latin1', 8, 16)) {
    case 'WEBPVP8X':
      return { type, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    case 'WEBPVP8 ':
      return { type, width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    case 'WEBPVP8L': {
      const packed = bytes.readUInt32LE(21);
      return { type, width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 };
    }
    default:
      return null;
  }
}

/** Looks for the frame header (ITU-T T.81 §B.2.2) among the segments. */
function jpegIn(bytes: Buffer): RasterImage | null {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return null;
  const end = Math.min(bytes.length, MAX_JPEG_HEADER) - 9;
  for (let at = 2; at <= end;) {
    if (bytes[at] !== 0xff) return null;
    const marker = bytes.readUInt8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame)
      return { type: 'image/jpeg', width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    const length = bytes.readUInt16BE(at + 2);
    if (length < 2) return null;
    at += 2 + length;
  }
  return null;
}

/** Whether a text file is an SVG image. Its scripts don't run in an `img` element. */
export function isSvg(bytes: Buffer): boolean {
  const start = bytes.toString('utf8', 0, 1_000).replace(/^\ufeff/, '');
  return /^\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--(?:(?!-->)[^])*-->\s*)*<svg[\s>]/.test(start);
}
