import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll } from 'vitest';
import { keepSecret } from './secrets.js';

export interface CloudEventJson {
  specversion: string;
  id: string;
  source: string;
  type: string;
  subject: string;
  time: string;
  datacontenttype: string;
  data: Record<string, unknown> & { target: { type: string; name: string; version?: string } };
}

export interface Delivered {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: CloudEventJson;
}

/** Returns the status for a delivery: 204 if undefined, no response if null. */
type Answer = (delivered: Delivered, count: number) => Promised<Answered | null | undefined>;
type Promised<T> = T | Promise<T>;
export interface Answered {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** A secret of 24 bytes, as an operator makes one. It may appear in no output. */
export function aWebhookSecret(): string {
  return keepSecret(
    `whsec_${Buffer.from(Array.from({ length: 24 }, () => Math.random() * 256)).toString('base64')}`,
  );
}

/** A server that receives webhooks. */
export class Receiver {
  readonly deliveries: Delivered[] = [];
  answer: Answer = () => undefined;
  private server: Server | undefined;
  private port = 0;

  async start(): Promise<this> {
    this.server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        const event = JSON.parse(body) as CloudEventJson;
        const delivered = { path: request.url ?? '', headers: request.headers, body, event };
        this.deliveries.push(delivered);
        void Promise.resolve(this.answer(delivered, this.deliveries.length)).then((answered) =>
          this.respond(response, answered),
        );
      });
    });
    await new Promise<void>((done) => this.server?.listen(this.port, '127.0.0.1', done));
    this.port = (this.server.address() as AddressInfo).port;
    return this;
  }

  async stop(): Promise<void> {
    this.server?.closeAllConnections();
    await new Promise((done) => this.server?.close(done));
  }

  runs(): this {
    beforeAll(async () => void (await this.start()));
    afterAll(() => this.stop());
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/in`;
  }

  /** Types and subjects of the deliveries, such as `entry.publish server/a/b@1`. */
  received(path = '/in'): string[] {
    return this.deliveries
      .filter((one) => one.path === path)
      .map(({ event }) => `${event.type} ${event.subject}`);
  }

  private respond(response: ServerResponse, answered: Answered | null | undefined): void {
    if (answered === null) return;
    response.writeHead(answered?.status ?? 204, answered?.headers).end(answered?.body);
  }
}
