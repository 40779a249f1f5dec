import { ExpressAdapter } from '@nestjs/platform-express';
import type { Response } from 'express';
import Negotiator from 'negotiator';
import { type Coding, CODINGS, JsonText, CachedJson } from './json-answers.js';

/** Nest's adapter for Express, which also knows JSON that is text or bytes already and sends it as it is. */
export class JsonAnswersAdapter extends ExpressAdapter {
  override reply(response: Response, body: unknown, status?: number): unknown {
    if (body instanceof JsonText) return sendText(response, body, status);
    if (body instanceof CachedJson) return sendKept(response, body, status);
    return super.reply(response, body, status) as unknown;
  }
}

function sendText(response: Response, json: JsonText, status?: number): void {
  setHeaders(response, 'Authorization, Origin', json.etag);
  // Express compares `If-None-Match` with the tag and makes it a 304.
  response.status(status ?? response.statusCode).send(json.text);
}

async function sendKept(response: Response, json: CachedJson, status?: number): Promise<void> {
  const coding = json.isWorthCompressing ? codingFor(response) : null;
  setHeaders(response, 'Authorization, Origin, Accept-Encoding', json.etag(coding));
  if (status !== undefined) response.statusCode = status;
  if (response.req.fresh) {
    response.removeHeader('Content-Type');
    response.statusCode = 304;
    response.end();
    return;
  }
  const bytes = coding === null ? json.bytes : await json.compressed(coding);
  if (coding !== null) response.setHeader('Content-Encoding', coding);
  response.setHeader('Content-Length', bytes.length);
  response.end(bytes);
}

// contract §6. The CORS middleware has said already what else answers vary by.
function setHeaders(response: Response, vary: string, etag: string): void {
  response.vary(vary);
  response.setHeader('Cache-Control', 'private, no-cache');
  response.setHeader('ETag', etag);
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
}

// Of what the client likes equally well, the first of ours: browsers name gzip first and mean nothing by it.
function codingFor({ req }: Response): Coding | null {
  if (req.headers['accept-encoding'] === undefined) return null;
  const [accepted] = new Negotiator(req).encodings([...CODINGS], { preferred: [...CODINGS] });
  return CODINGS.find((coding) => coding === accepted) ?? null;
}
