// The ceiling: a route of Nest and Express that does nothing but send bytes. No guard, no log, no ETag, no database.
// Usage: bare-route.js <port> <file>…; `/0` answers with the first file, `/1` with the second.
import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { Controller, Get, Module, Param, Res } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Response } from 'express';

const [port, ...files] = process.argv.slice(2);
const pages = files.map((file) => readFileSync(file));

@Controller()
class BareController {
  // Of what a handler returns Nest makes text or JSON; a buffer is sent as it is by Express alone, and that is cheapest.
  @Get(':page')
  get(@Param('page') page: string, @Res() response: Response): void {
    response.type('json').send(pages[Number(page)]);
  }
}

@Module({ controllers: [BareController] })
class BareModule {}

const app = await NestFactory.create<NestExpressApplication>(BareModule, { logger: false });
// By default Express digests each body it sends, which would make the ceiling low.
app.disable('etag');
await app.listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)));
