import { afterAll, beforeAll, expect } from 'vitest';
import { type Reply, Sender, type Sent } from './http.js';
import type { ServiceUnderTest } from './service.js';

/** A mapping that decides which claims count, not whether a token is valid. */
const MAPPING = {
  claims: [
    { from: '/groups', to: 'team', values: { g1: 'red' } },
    { from: '/sub', to: 'person' },
    { to: 'org', value: 'acme', when: { aud: 'registry' } },
  ],
  groups: { from: 'userinfo' },
};

/**
 * A service and a replica whose providers map claims: requests with a token go to both and must get the same response.
 */
export function alsoWithMappedClaims(service: ServiceUnderTest): ServiceUnderTest {
  const replica: { service?: ServiceUnderTest } = {};
  beforeAll(async () => {
    replica.service = service.replica().auth({ everyProvider: MAPPING });
    await replica.service.start();
  });
  afterAll(() => replica.service?.stop());
  const both = Object.create(service) as ServiceUnderTest;
  both.bearing = (token) => new Both(service.bearing(token), (replica.service ?? service).bearing(token));
  return both;
}

class Both extends Sender {
  constructor(
    private readonly one: Sender,
    private readonly other: Sender,
  ) {
    super();
  }

  async send(method: string, path: string, sent: Sent = {}): Promise<Reply> {
    const reply = await this.one.send(method, path, sent);
    expect(verdictOf(await this.other.send(method, path, sent))).toEqual(verdictOf(reply));
    return reply;
  }
}

function verdictOf({ status, json, headers }: Reply): unknown {
  const { code, subject } = (json ?? {}) as { code?: string; subject?: string };
  return { status, code, subject, challenge: headers['www-authenticate'] };
}
