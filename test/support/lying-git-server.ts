import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { constants, deflateRawSync } from 'node:zlib';
import type { GitRepository } from './git-repository.js';
import type { Misbehave } from './git-server.js';

/** A packet of the Git protocol (gitprotocol-common). */
export function packet(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes]);
}

const FLUSH = '0000';
const DELIMITER = '0001';
/** Bytes of a side-band packet. */
const MAX_BAND_BYTES = 65_000;

const ADVERTISEMENT = [
  packet('version 2\n'),
  ...['ls-refs', 'fetch=shallow filter packfile-uris', 'object-format=sha1'].map((line) =>
    packet(`${line}\n`),
  ),
  FLUSH,
];

/** Replaces the honest response to a command of protocol version 2. */
export interface Lies {
  readonly refs?: (response: ServerResponse) => Promise<void> | void;
  /** Sections before the pack. */
  readonly sections?: readonly (string | Buffer)[];
  readonly pack?: Iterable<Buffer>;
}

/** Serves one commit as branch `main` with protocol version 2, with false responses. */
export function lying(repository: GitRepository, commit: string, lies: Lies): Misbehave {
  return (request, response) => void answer(repository, commit, lies, request, response);
}

async function answer(
  repository: GitRepository,
  commit: string,
  { refs, sections = [], pack }: Lies,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const kind = request.method === 'GET' ? 'advertisement' : 'result';
  response.setMaxListeners(0).setHeader('Content-Type', `application/x-git-upload-pack-${kind}`);
  const send = async (part: string | Buffer) => {
    if (!response.destroyed && !response.write(part))
      await Promise.race([once(response, 'drain'), once(response, 'close')]);
  };
  if (request.method === 'GET') for (const part of ADVERTISEMENT) await send(part);
  else if ((await text(request)).includes('command=ls-refs')) {
    if (refs) await refs(response);
    else
      for (const part of [packet(`${commit} HEAD\n`), packet(`${commit} refs/heads/main\n`), FLUSH])
        await send(part);
  } else {
    await send(
      Buffer.concat([packet('shallow-info\n'), packet(`shallow ${commit}\n`), Buffer.from(DELIMITER)]),
    );
    for (const part of sections) await send(part);
    await send(packet('packfile\n'));
    for (const chunk of pack ?? [packOf(repository, commit)]) {
      if (response.destroyed) return;
      for (let at = 0; at < chunk.length; at += MAX_BAND_BYTES)
        await send(packet(Buffer.concat([Buffer.from([1]), chunk.subarray(at, at + MAX_BAND_BYTES)])));
    }
    await send(FLUSH);
  }
  response.end();
}

/** The section in which a server refers to packs elsewhere (gitprotocol-v2). */
export function packUris(...uris: string[]): (string | Buffer)[] {
  return [packet('packfile-uris\n'), ...uris.map((uri) => packet(`${'0'.repeat(40)} ${uri}\n`)), DELIMITER];
}

function packOf(repository: GitRepository, commit: string): Buffer {
  const args = ['-C', repository.directory, 'pack-objects', '--stdout', '--revs', '--quiet'];
  return execFileSync('git', args, { input: `${commit}\n` });
}

/** A pack of one object that inflates a thousandfold and never ends. */
export function* endlessPack(): Generator<Buffer> {
  const zeros = deflateRawSync(Buffer.alloc(16 * 1024 * 1024), { finishFlush: constants.Z_FULL_FLUSH });
  // A blob of nearly 2^39 bytes, in gitformat-pack's encoding of type and size, and the header of zlib.
  yield Buffer.from([
    ...Buffer.from('PACK'),
    0,
    0,
    0,
    2,
    0,
    0,
    0,
    1,
    0xbf,
    0xff,
    0xff,
    0xff,
    0xff,
    0x7f,
    0x78,
    0x01,
  ]);
  for (;;) yield zeros;
}

/** Lists references until the client hangs up, or up to this many bytes. */
export function manyRefs(commit: string, maxBytes: number): (response: ServerResponse) => Promise<void> {
  return async (response) => {
    for (let sent = 0, count = 0; sent < maxBytes && !response.destroyed;) {
      const lines = Array.from({ length: 1_000 }, () =>
        packet(`${commit} refs/heads/${String((count += 1)).padStart(9, '0')}\n`),
      );
      const chunk = Buffer.concat(lines);
      sent += chunk.length;
      if (!response.write(chunk)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    }
    response.write(FLUSH);
  };
}
