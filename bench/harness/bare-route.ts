// The upper bound: a Nest + Express route that only sends bytes. No guard, log or database. Usage: bare-route.js <port>
// plain|stripped <file>…; `/0` returns the first file, `/1` the second. Plain: a handler returns text, with Nest and
// Express defaults. Stripped: an Express handler sends a buffer without ETag, the cheapest path through Nest.
import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { Controller, Get, Header, Module, Param, Res } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Response } from 'express';

const [port, kind, ...files] = process.argv.slice(2);
const pages = files.map((file) => readFileSync(file));
const texts = pages.map((page) => page.toString());

@Controller()
class PlainController {
  @Get(':page')
  @Header('Content-Type', 'application/json; charset=utf-8')
  get(@Param('page') page: string): string | undefined {
    return texts[Number(page)];
  }
}

@Controller()
class StrippedController {
  @Get(':page')
  get(@Param('page') page: string, @Res() response: Response): void {
    response.type('json').send(pages[Number(page)]);
  }
}

@Module({ controllers: [kind === 'stripped' ? StrippedController : PlainController] })
class BareModule {}

const app = await NestFactory.create<NestExpressApplication>(BareModule, { logger: false });
if (kind === 'stripped') app.disable('etag');
await app.listen(Number(port), '127.0.0.1');
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)));
