import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { type Header, pack } from 'tar-stream';

/** An entry of a zip file. Everything but the name has a valid default, so that a test can lie about one thing. */
export interface ZipEntry {
  name: string | Buffer;
  data?: Buffer | string;
  /** Unix mode with type bits. */
  mode?: number;
  flags?: number;
  method?: number;
  crc?: number;
  /** The compressed bytes, if they do not hold `data`. */
  packed?: Buffer;
  size?: number;
}

/** Returns a zip file. */
export function aZip(entries: readonly ZipEntry[]): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const { name, data = 'data', mode = 0o100644, flags = 0x800, method = 8, ...lies } of entries) {
    const bytes = Buffer.from(data);
    const path = Buffer.from(name);
    const packed = lies.packed ?? (method === 8 ? deflateRawSync(bytes) : bytes);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(flags, 2);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(lies.crc ?? crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(lies.size ?? bytes.length, 18);
    common.writeUInt16LE(path.length, 22);
    locals.push(Buffer.from('PK\u0003\u0004'), common, path, packed);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(mode * 0x10000, 6);
    tail.writeUInt32LE(offset, 10);
    central.push(Buffer.from('PK\u0001\u0002'), Buffer.from([20, 3]), common, tail, path);
    offset += 30 + path.length + packed.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...locals, directory, Buffer.from('PK\u0005\u0006'), end]);
}

export type TarEntry = Partial<Header> & { name: string; data?: Buffer | string };

/** Returns a tar file. */
export async function aTar(entries: readonly TarEntry[]): Promise<Buffer> {
  const tar = pack();
  for (const { data = '', ...header } of entries)
    tar.entry({ mtime: new Date(0), ...header }, Buffer.from(data));
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

export async function aTarGz(entries: readonly TarEntry[]): Promise<Buffer> {
  return gzipSync(await aTar(entries));
}

/** The text of a SKILL.md. */
export function aSkillFile(name: string, description: string, body = '# Skill\n'): string {
  return `---\nname: ${name}\ndescription: ${JSON.stringify(description)}\n---\n\n${body}`;
}
