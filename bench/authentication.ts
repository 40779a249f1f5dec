// Measures what verifying tokens costs a request: one trivial route behind the guards, asked without authentication and
// with RS256 tokens of 100 callers in turn. Rounds alternate, so that a noisy machine hits both alike.
import 'reflect-metadata';
import { createServer } from 'node:http';
import { generateKeyPairSync, sign } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { Controller, Get, Module, type INestApplication } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import autocannon from 'autocannon';
import { AuthGuard } from '#service/auth/auth.guard.js';
import { AuthModule } from '#service/auth/auth.module.js';
import { AnyCaller } from '#service/auth/route-access.js';
import { RolesGuard } from '#service/authz/roles.guard.js';
import { AuthzModule } from '#service/authz/authz.module.js';
import type { Config } from '#service/config/config.js';

const ROUNDS = 5;
const SECONDS = 4;
const CALLERS = 100;
/** What issue and documents promise: authenticated over unauthenticated requests per second. */
const TARGET = 0.7;

@Controller('trivial')
@AnyCaller()
class TrivialController {
  @Get()
  get(): object {
    return { answer: 'the same for everybody' };
  }
}

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const provider = createServer((_, response) => {
  response.end(
    JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256' }] }),
  );
});
const issuer = await new Promise<string>((resolve) => {
  provider.listen(0, '127.0.0.1', () =>
    resolve(`http://127.0.0.1:${(provider.address() as AddressInfo).port}`),
  );
});

const tokens = Array.from({ length: CALLERS }, (_, caller) => {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const claims = {
    iss: issuer,
    aud: 'registry',
    sub: `caller-${caller}`,
    org: 'acme',
    groups: Array.from({ length: 20 }, (_unused, group) => `group-${group}`),
    exp: Math.floor(Date.now() / 1000) + 3600,
  };
  const signed = `${encode({ alg: 'RS256', kid: 'k', typ: 'JWT' })}.${encode(claims)}`;
  return `${signed}.${sign('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
});

async function serve(mode: 'anonymous' | 'oauth'): Promise<{ app: INestApplication; url: string }> {
  const oauth = {
    resourceUrl: 'https://registry.example.com',
    realm: 'bench',
    scopesSupported: [],
    publicPaths: [],
    providers: [
      { name: 'p', issuerUrl: issuer, audience: 'registry', jwksUrl: issuer, allowPrivateIP: true },
    ],
  };
  const config = { auth: { mode, oauth }, insecureUrls: false } as unknown as Config;
  @Module({
    imports: [AuthModule.with(config), AuthzModule.with(config)],
    controllers: [TrivialController],
    providers: [
      { provide: APP_GUARD, useClass: AuthGuard },
      { provide: APP_GUARD, useClass: RolesGuard },
    ],
  })
  class TrivialModule {}
  const app = await NestFactory.create(TrivialModule, { logger: false });
  await app.listen(0, '127.0.0.1');
  return { app, url: `${await app.getUrl()}/trivial` };
}

async function requestsPerSecond(url: string, bearers: readonly string[]): Promise<number> {
  const result = await autocannon({
    url,
    duration: SECONDS,
    connections: 20,
    workers: 1,
    requests:
      bearers.length === 0
        ? [{}]
        : bearers.map((token) => ({ headers: { authorization: `Bearer ${token}` } })),
  });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} answers were no 200`);
  return result.requests.average;
}

const open = await serve('anonymous');
const guarded = await serve('oauth');
const ratios: number[] = [];
for (let round = 0; round <= ROUNDS; round += 1) {
  const without = await requestsPerSecond(open.url, []);
  const withTokens = await requestsPerSecond(guarded.url, tokens);
  // The first round warms up.
  if (round > 0) ratios.push(withTokens / without);
}
const median = [...ratios].sort((one, other) => one - other)[Math.floor(ratios.length / 2)] ?? 0;
console.log(
  `authentication: ${median.toFixed(2)} of the requests per second without it ` +
    `(must reach ${TARGET}; rounds ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')})`,
);
await open.app.close();
await guarded.app.close();
provider.close();
process.exitCode = median >= TARGET ? 0 : 1;
