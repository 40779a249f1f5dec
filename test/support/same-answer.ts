import { expect } from 'vitest';
import { sendRaw } from './raw.js';

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: unknown;
}

/** The raw response bytes for a caller with this token. */
export function answerTo(
  port: number,
  token: string,
  { method, path, headers, body }: Asked,
): Promise<string> {
  const payload = body === undefined ? '' : JSON.stringify(body);
  const sent = {
    Host: '127.0.0.1',
    Connection: 'close',
    Authorization: `Bearer ${token}`,
    ...(body === undefined
      ? {}
      : { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(payload)) }),
    ...headers,
  };
  const lines = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`);
  return sendRaw(port, `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${payload}`);
}

/**
 * Expects byte-identical responses, including headers and their order, except for the request id, the date and
 * the two names, which must have equal length.
 */
export function expectSameAnswer(hidden: string, missing: string, names: readonly [string, string]): void {
  expect(names[0].length).toBe(names[1].length);
  expect(neutral(hidden, names[0])).toBe(neutral(missing, names[1]));
}

function neutral(answer: string, name: string): string {
  const [, id = '(none)'] = /^x-request-id: (\S+)/im.exec(answer) ?? [];
  return answer
    .replaceAll(id, '(id)')
    .replaceAll(/^date: .*$/gim, 'Date: (now)')
    .replaceAll(name, '(name)');
}
