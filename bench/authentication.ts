import 'reflect-metadata';
import { Controller, Get, Module, type INestApplication } from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { AuthGuard } from '#service/auth/auth.guard.js';
import { AuthModule } from '#service/auth/auth.module.js';
import { AnyCaller } from '#service/auth/route-access.js';
import { RolesGuard } from '#service/authz/roles.guard.js';
import { AuthzModule } from '#service/authz/authz.module.js';
import type { Config } from '#service/config/config.js';
import { configurationModule } from '#service/config/slices.js';
import { atLeast, type Figure, figure } from './harness/figure.js';
import { requestsPerSecond } from './harness/load.js';
import { say } from './harness/report.js';
import { rounds } from './harness/rounds.js';
import type { Stage } from './harness/stage.js';

const CALLERS = 100;

@Controller('trivial')
@AnyCaller()
class TrivialController {
  @Get()
  get(): object {
    return { answer: 'the same for everybody' };
  }
}

/**
 * What verifying tokens costs a request: one trivial route behind the guards, asked without authentication and with RS256
 * tokens of 100 callers in turn.
 */
export async function measureAuthentication({ issuer }: Stage, quick: boolean): Promise<Figure[]> {
  const requests = Array.from({ length: CALLERS }, (_, caller) => ({
    path: '/trivial',
    token: issuer.tokenOf({
      sub: `caller-${caller}`,
      org: 'acme',
      groups: Array.from({ length: 20 }, (_unused, group) => `group-${group}`),
    }),
  }));
  const open = await serve('anonymous', issuer.provider);
  const guarded = await serve('oauth', issuer.provider);
  const load = { connections: 20, seconds: quick ? 3 : 4 };
  const ratios = await rounds(quick ? 3 : 5, async (round) => {
    say(`authentication, round ${round}`);
    const without = await requestsPerSecond({ ...load, url: open.url, requests: [{ path: '/trivial' }] });
    return (await requestsPerSecond({ ...load, url: guarded.url, requests })) / without;
  });
  await open.app.close();
  await guarded.app.close();
  return [figure('authentication', 'requests/s with RS256 tokens over those without', ratios, atLeast(0.7))];
}

async function serve(
  mode: 'anonymous' | 'oauth',
  provider: object,
): Promise<{ app: INestApplication; url: string }> {
  const oauth = {
    resourceUrl: 'https://registry.example.com',
    realm: 'bench',
    scopesSupported: [],
    publicPaths: [],
    providers: [provider],
  };
  const config = { auth: { mode, oauth }, insecureUrls: false } as unknown as Config;
  @Module({
    imports: [configurationModule(config), AuthModule, AuthzModule],
    controllers: [TrivialController],
    providers: [
      { provide: APP_GUARD, useClass: AuthGuard },
      { provide: APP_GUARD, useClass: RolesGuard },
    ],
  })
  class TrivialModule {}
  const app = await NestFactory.create(TrivialModule, { logger: false });
  await app.listen(0, '127.0.0.1');
  return { app, url: await app.getUrl() };
}
