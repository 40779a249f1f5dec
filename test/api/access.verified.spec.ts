import { Controller } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { AppModule } from '../../dist/app/app.module.js';
import { Loaded, Route, type RouteDeclaration } from '../../dist/auth/route.js';
import { CatalogRead } from '../../dist/visibility/registry-views.js';
import type { CachedJson } from '../../dist/http/json-answers.js';
import type { RememberedAccess, VerifiedAccess } from '../../dist/visibility/registry-views.js';
import { ACME_DATA, CONTOSO_READER, SUPER_ADMIN } from '../support/callers.js';
import { aServer } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import { aService, type ServiceUnderTest } from '../support/service.js';

const PING: RouteDeclaration = { access: 'caller', audit: 'catalog.read', loads: 'view', openApi: false };

/** New routes that follow the recipe in CONTRIBUTING.md; neither of them checks access itself. */
@Controller('registry/:registry')
class PingController {
  @Route('GET', 'ping', PING)
  ping(): object {
    return {};
  }

  @Route('GET', 'ping-loaded', PING)
  pingLoaded(@Loaded() { registryName, isVerified }: VerifiedAccess): object {
    return { registry: registryName, isVerified };
  }
}

/** Adds the controller to every service that this file starts. */
const assemble = AppModule.with.bind(AppModule);
const assembled = vi
  .spyOn(AppModule, 'with')
  .mockImplementation((...parts) => ({ ...assemble(...parts), controllers: [PingController] }));
afterAll(() => assembled.mockRestore());

describe.each([
  ['ping', {}],
  ['ping-loaded', { registry: 'main', isVerified: true }],
])('a new route of a registry, %s, on a replica with a remembered access', (route, body) => {
  const writer = aService({ mode: 'full' })
    .source('tools', { servers: [aServer('io.acme/deploy')], claims: { org: 'acme' } })
    .runs();
  let reader: ServiceUnderTest;
  beforeAll(async () => {
    reader = writer.replica();
    await reader.start();
  });
  afterAll(() => reader.stop());

  const put = async (claims: object) => {
    const reply = await writer.as(SUPER_ADMIN).put('/v1/registries/main', { sources: ['tools'], claims });
    expect(reply.status).toBeOneOf([200, 201]);
  };
  const ping = (claims: Record<string, unknown> = ACME_DATA) =>
    reader.as(claims).get(`/registry/main/${route}`);
  /** Reads until the access is remembered: a list, then the route. */
  const remember = async () => {
    for (const claims of [ACME_DATA, CONTOSO_READER]) {
      expect((await reader.as(claims).get('/registry/main/v0.1/servers')).status).toBe(200);
      const reply = await ping(claims);
      expect({ status: reply.status, body: reply.json }).toEqual({ status: 200, body });
    }
  };

  it('returns 403 from the next request after the other replica changed the registry’s claims', async () => {
    await put({});
    await remember();
    await put({ org: 'acme' });
    expectRefused(await ping(CONTOSO_READER), 403, 'registry_forbidden');
    expect((await ping(ACME_DATA)).status).toBe(200);
    await put({});
    expect((await ping(CONTOSO_READER)).status).toBe(200);
  });

  it('returns 404 from the next request after the other replica deleted the registry', async () => {
    await put({});
    await remember();
    expect((await writer.as(SUPER_ADMIN).delete('/v1/registries/main')).status).toBe(204);
    expectRefused(await ping(), 404, 'registry_not_found');
  });
});

describe('a verified access', () => {
  const needsVerified = (access: VerifiedAccess) => access;
  const needsRemembered = (access: RememberedAccess) => access;

  // oxlint fails if an expected error does not occur.
  it('is a distinct type to the compiler', () => {
    const [verified, remembered] = [{} as VerifiedAccess, {} as RememberedAccess];
    // @ts-expect-error A remembered access proves nothing.
    needsVerified(remembered);
    // @ts-expect-error Nor does a copy that claims to be verified.
    needsVerified({ ...remembered, isVerified: true });
    // @ts-expect-error A verified access has no state that statements could check.
    needsRemembered(verified);
    class Reads {
      // @ts-expect-error The access may be a remembered one.
      @CatalogRead('', undefined, { operationId: 'read', summary: '', answer: null, errors: [] })
      read(access: VerifiedAccess): Promise<CachedJson> {
        return Promise.reject(new Error(access.registryName));
      }
    }
    expect(Reads).toBeDefined();
  });
});
