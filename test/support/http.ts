import { Agent, request } from 'node:http';
import { afterAll, beforeAll } from 'vitest';

export interface Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  /** Raw bytes, perhaps compressed. */
  readonly bytes: Buffer;
  readonly text: string;
  /** The parsed body; undefined when it is not JSON. */
  readonly json: never;
}

/** An array is sent as repeated header lines. */
export type Headers = Record<string, string | string[]>;

interface Call {
  method?: string;
  headers?: Headers;
  body?: string | Buffer;
  from?: string | undefined;
}

/** Opening a connection takes a tenth of the time of all tests. */
const reusing = new Agent({ keepAlive: true });
let agent: Agent | false = reusing;

/** Opens a connection for each request of the file, for tests that count connections. Call before `runs`. */
export function reusesNoConnections(): void {
  beforeAll(() => void (agent = false));
  afterAll(() => void (agent = reusing));
}

/** Sends one HTTP request with nothing added or normalized: paths are sent verbatim. */
export function call(url: string, sent: Call = {}): Promise<Reply> {
  const { method = 'GET', headers = {}, body, from } = sent;
  const [, host, port, path] = /^http:\/\/([^/:]+):(\d+)(.*)$/s.exec(url) ?? [];
  return new Promise((resolve, reject) => {
    const target = { host, port, path: path || '/', method, headers, agent, localAddress: from };
    const outgoing = request(target, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const bytes = Buffer.concat(chunks);
        const text = bytes.toString();
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          bytes,
          text,
          json: parse(text) as never,
        });
      });
    });
    outgoing.on('error', (error: NodeJS.ErrnoException) => {
      // The service closed an idle connection before it received the request.
      if (outgoing.reusedSocket && /^(ECONNRESET|EPIPE)$/.test(error.code ?? '')) resolve(call(url, sent));
      else reject(error);
    });
    outgoing.end(body);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export interface Sent {
  headers?: Headers;
  /** Strings and bytes are sent verbatim, anything else as JSON. */
  body?: unknown;
  /** Local address, one of 127.0.0.0/8; any when absent. */
  from?: string;
}

/** A caller that sends requests to one service. */
export abstract class Sender {
  abstract send(method: string, path: string, sent?: Sent): Promise<Reply>;

  get(path: string, headers: Headers = {}): Promise<Reply> {
    return this.send('GET', path, { headers });
  }

  post(path: string, body?: unknown, headers: Headers = {}): Promise<Reply> {
    return this.send('POST', path, { body, headers });
  }

  put(path: string, body?: unknown, headers: Headers = {}): Promise<Reply> {
    return this.send('PUT', path, { body, headers });
  }

  patch(path: string, body?: unknown, headers: Headers = {}): Promise<Reply> {
    return this.send('PATCH', path, { body, headers });
  }

  delete(path: string, headers: Headers = {}): Promise<Reply> {
    return this.send('DELETE', path, { headers });
  }
}

/** Sends the request with the headers its body requires. */
export function callWith(url: string, method: string, { headers = {}, body, from }: Sent): Promise<Reply> {
  if (body === undefined) return call(url, { method, headers, from });
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body);
  return call(url, {
    method,
    headers: { 'Content-Type': 'application/json', ...headers },
    body: isRaw ? body : JSON.stringify(body),
    from,
  });
}
