import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

export type InjectedFault =
  | 'hang' // accepts the request and never responds
  | { readonly after: Promise<void> } // the right response, once this promise resolves
  | 'drip' // one byte at a time, forever
  | 'down' // closes the connection
  | 'error' // 500
  | 'html' // 200 with HTML
  | 'garbage' // 200 with truncated JSON
  | 'huge' // the right response, padded to 50 MB
  | { readonly padding: number } // the right response, padded to this many bytes
  | 'wrong-issuer' // the right response with another issuer
  | { readonly redirect: string } // 302 to this URL
  | { readonly answer: unknown } // 200 with this JSON
  | { readonly text: string }; // 200 with this body

const HUGE_BYTES = 50_000_000;
const BLOCK = 'x'.repeat(100_000);
const DRIP_MS = 100;

export function send(response: ServerResponse, status: number, answer: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer));
}

/** Sends a faulty response in place of the right one. */
export async function injectFault(
  response: ServerResponse,
  how: InjectedFault,
  right: object,
): Promise<void> {
  if (typeof how === 'object') {
    if ('answer' in how) return send(response, 200, how.answer);
    if ('text' in how)
      return void response.writeHead(200, { 'Content-Type': 'application/json' }).end(how.text);
    if ('after' in how) {
      await how.after;
      return send(response, 200, right);
    }
    if ('padding' in how) return stream(response, padded(right, how.padding));
    return void response.writeHead(302, { Location: how.redirect }).end();
  }
  switch (how) {
    case 'hang':
      return;
    case 'down':
      return void response.destroy();
    case 'error':
      return send(response, 500, { error: 'server_error' });
    case 'html':
      return void response.writeHead(200, { 'Content-Type': 'text/html' }).end('<h1>Please sign in</h1>');
    case 'garbage':
      return void response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"keys": [');
    case 'wrong-issuer':
      return send(response, 200, { ...right, issuer: 'https://evil.example', iss: 'https://evil.example' });
    case 'huge':
      return stream(response, padded(right, HUGE_BYTES));
    case 'drip':
      return stream(response, drops(right));
  }
}

async function stream(
  response: ServerResponse,
  parts: Iterable<string> | AsyncIterable<string>,
): Promise<void> {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  await pipeline(Readable.from(parts), response);
}

/** Equivalent JSON of this many bytes. */
function* padded(answer: object, bytes: number): Generator<string> {
  const start = `${JSON.stringify(answer).slice(0, -1)},"padding":"`;
  const end = '"}';
  yield start;
  for (let left = bytes - start.length - end.length; left > 0; left -= BLOCK.length)
    yield BLOCK.slice(0, left);
  yield end;
}

async function* drops(answer: object): AsyncGenerator<string> {
  yield JSON.stringify(answer).slice(0, -1);
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, DRIP_MS));
    yield ' ';
  }
}
