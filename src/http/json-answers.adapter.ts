import { once } from 'node:events';
import { createServer } from 'node:http';
import { Logger } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Express, Response } from 'express';
import Negotiator from 'negotiator';
import {
  CACHE_CONTROL,
  CachedJson,
  type Coding,
  CODINGS,
  isFresh,
  JsonLines,
  JsonText,
  LINES_TYPE,
  madeForExpress,
  sendNotModified,
  setHeaders,
} from './json-answers.js';
import { UNREAD } from './server-limits.js';

/** Nest's adapter for Express, extended to send JSON that is already text or bytes unchanged. */
export class JsonAnswersAdapter extends ExpressAdapter {
  override initHttpServer(): void {
    const app = this.getInstance<Express>();
    this.httpServer = createServer(madeForExpress(app), app);
  }

  override reply(response: Response, body: unknown, status?: number): unknown {
    if (body instanceof JsonText) return sendText(response, body, status);
    if (body instanceof JsonLines) return sendLines(response, body, status);
    if (body instanceof CachedJson) return sendCached(response, body, status);
    return super.reply(response, body, status) as unknown;
  }
}

function sendText(response: Response, json: JsonText, status?: number): void {
  const { etag } = json;
  setHeaders(response, 'Authorization, Origin', etag);
  if (status !== undefined) response.statusCode = status;
  if (isFresh(response, etag)) sendNotModified(response);
  else response.send(json.text);
}

async function sendCached(response: Response, json: CachedJson, status?: number): Promise<void> {
  const coding = json.isCompressible ? codingFor(response) : null;
  const etag = json.etag(coding);
  setHeaders(response, 'Authorization, Origin, Accept-Encoding', etag);
  for (const [name, value] of Object.entries(json.headers)) response.setHeader(name, value);
  if (status !== undefined) response.statusCode = status;
  if (isFresh(response, etag)) return sendNotModified(response);
  const bytes = coding === null ? json.bytes : await json.compressed(coding);
  if (coding !== null) response.setHeader('Content-Encoding', coding);
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
}

/** Sends lines as fast as the client reads them. An error after the headers can only cut the response off. */
async function sendLines(response: Response, { chunks, gone }: JsonLines, status?: number): Promise<void> {
  response.vary('Authorization, Origin');
  response.setHeader('Cache-Control', CACHE_CONTROL);
  response.setHeader('Content-Type', LINES_TYPE);
  if (status !== undefined) response.statusCode = status;
  if (response.req.method === 'HEAD') {
    response.end();
    return;
  }
  try {
    for await (const chunk of chunks) {
      if (response.write(chunk)) continue;
      response.emit(UNREAD);
      await once(response, 'drain', { signal: gone });
      response.emit(UNREAD);
    }
    response.end();
  } catch (error) {
    if (!gone.aborted)
      new Logger('http').error({ requestId: response.req.id, err: error }, 'A list was cut off');
    response.destroy();
  }
}

// Among equally preferred codings ours decides: browsers list gzip first without preferring it.
function codingFor({ req }: Response): Coding | null {
  if (req.headers['accept-encoding'] === undefined) return null;
  const [accepted] = new Negotiator(req).encodings([...CODINGS], { preferred: [...CODINGS] });
  return CODINGS.find((coding) => coding === accepted) ?? null;
}
