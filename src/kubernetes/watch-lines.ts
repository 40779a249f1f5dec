/** An object of 1.5 MiB, the most that a cluster keeps, with room for what is escaped. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

/** The whole lines of a stream. What follows the last line break was cut off, and is no line. */
export async function* wholeLines(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  let length = 0;
  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      parts.push(chunk.subarray(start, end));
      const line = Buffer.concat(parts).toString().trim();
      if (line !== '') yield line;
      parts = [];
      length = 0;
      start = end + 1;
    }
    parts.push(chunk.subarray(start));
    length += chunk.length - start;
    if (length > MAX_LINE_BYTES) throw new Error(`a line of a watch has more than ${MAX_LINE_BYTES} bytes`);
  }
}
