import { describe, expect, it } from 'vitest';
import { decide, type Item, itemsFor } from '../support/admission.js';
import { aSkillFile, aZip } from '../support/archives.js';
import { auditOf } from '../support/audit.js';
import { aServer, aSkill, type Document } from '../support/documents.js';
import type { Sender } from '../support/http.js';
import { anIssuer, type Issuer } from '../support/issuer.js';
import { expectChallenge, expectRefused } from '../support/matchers.js';
import { aName, aPublication, entryAt } from '../support/publishing.js';
import { aService } from '../support/service.js';

const LIMIT = 8;
const CLAIMS = { org: 'acme' };
/** May publish for Acme and review other people's publications. */
const ALICE = { sub: 'alice', org: 'acme', role: 'writer', team: 'review' };

/** Both tenants use introspection, and both have an `alice`. */
const [red, blue] = [anIssuer().runs(), anIssuer().runs()];
const service = aService({
  mode: 'full',
  providers: () =>
    [red, blue].map(({ iss, introspectionUrl }, position) => ({
      name: `tenant-${position}`,
      issuerUrl: iss,
      audience: 'registry',
      introspectionUrl,
      allowPrivateIP: true,
    })),
})
  .source('internal', {
    kind: 'managed',
    settings: { review: [{ names: ['com.acme/*'], reviewers: { team: 'review' } }] },
  })
  .registry('main', { sources: ['internal'] })
  .configuration({ limits: { changesPerMinute: LIMIT } })
  .runs();

/** Sends a JWT of the tenant, which has an `iss`. */
const withJwt = (tenant: Issuer, claims: Document = ALICE): Sender => service.bearing(tenant.sign(claims));
/** Sends an opaque token of the tenant, whose introspection response has no `iss`. */
const withOpaque = (tenant: Issuer, claims: Document = ALICE): Sender =>
  service.bearing(tenant.opaque({ iss: undefined, ...claims }));
const admin = () => withJwt(red, { sub: 'root', role: 'super-admin' });

let items = 0;
async function held(by: Sender): Promise<Item> {
  const name = `com.acme/held-${(items += 1)}`;
  expect((await by.post('/v1/entries', { server: aServer(name), claims: CLAIMS })).status).toBe(202);
  const [item] = (await itemsFor(by, '?mine=true')).filter((one) => one.name === name);
  if (!item) throw new Error(`${name} is not shown to its publisher`);
  return item;
}

describe('the same subject at two providers whose introspection responses lack iss', () => {
  it('identifies two people: one neither sees nor withdraws what the other published', async () => {
    const outsider = { ...ALICE, team: 'other' };
    const item = await held(withOpaque(red, outsider));
    expect(await itemsFor(withOpaque(blue, outsider))).toEqual([]);
    expectRefused(await decide(withOpaque(blue, outsider), item, 'withdraw'), 404, 'item_not_found');
    expect(await itemsFor(withOpaque(blue), '?mine=true')).toEqual([]);
    expect((await decide(withOpaque(red, outsider), item, 'withdraw')).status).toBe(200);
  });

  it('identifies two people: one may approve what the other published', async () => {
    const item = await held(withOpaque(red));
    expectRefused(await decide(withOpaque(red), item, 'approve'), 403, 'own_publication');
    expect((await decide(withOpaque(blue), item, 'approve')).status).toBe(200);
  });

  it('is distinguished by publishedBy and the audit trail', async () => {
    for (const tenant of [red, blue]) {
      const name = aName();
      expect(
        (await withOpaque(tenant).post('/v1/entries', aPublication('server', name, CLAIMS))).status,
      ).toBe(201);
      const by = { subject: 'alice', issuer: tenant.iss };
      expect((await admin().get(entryAt('server', name))).json).toMatchObject({
        versions: [{ publishedBy: by }],
      });
      expect(await auditOf(admin(), `target=${name}`)).toMatchObject([{ actor: by }]);
    }
  });

  it('has two change limits and two sync turns', async () => {
    const busy = { ...ALICE, sub: 'busy', role: ['writer', 'super-admin'] };
    const changes = async (sender: Sender, count: number) => {
      const statuses: number[] = [];
      for (let change = 0; change < count; change += 1)
        statuses.push((await sender.post('/v1/entries', aPublication('server', aName(), CLAIMS))).status);
      return statuses;
    };
    expect(new Set(await changes(withJwt(red, busy), LIMIT))).toEqual(new Set([201]));
    expect(await changes(withOpaque(red, busy), 1)).toEqual([429]);
    expect(await changes(withOpaque(blue, busy), 1)).toEqual([201]);
    const sources = { jwt: withJwt(red), opaque: withOpaque(red), other: withOpaque(blue) };
    for (const [name, sender] of Object.entries(sources)) {
      const body = { file: { url: 'http://127.0.0.1:9/none.json' }, syncPolicy: { interval: '1h' } };
      const admins = { ...ALICE, sub: 'admin', role: 'admin' };
      const owner =
        sender === sources.jwt ? withJwt(red, admins) : withOpaque(name === 'other' ? blue : red, admins);
      expect((await owner.put(`/v1/sources/${name}`, body)).status).toBe(201);
    }
    const owners = await service.database.query<{ name: string; owner: string }>(
      `select name, encode(changed_by, 'hex') as owner from source where changed_by is not null`,
    );
    const ownerOf = (name: string) => owners.find((one) => one.name === name)?.owner;
    expect(ownerOf('opaque')).toBe(ownerOf('jwt'));
    expect(ownerOf('other')).not.toBe(ownerOf('jwt'));
  });
});

describe('a JWT and an opaque token of one person', () => {
  it('do not let them approve their own publication', async () => {
    for (const [publisher, reviewer] of [
      [withJwt, withOpaque],
      [withOpaque, withJwt],
    ] as const) {
      const item = await held(publisher(red));
      expectRefused(await decide(reviewer(red), item, 'approve'), 403, 'own_publication');
      expect((await itemsFor(reviewer(red), '?mine=true')).map(({ id }) => id)).toContain(item.id);
      expect((await decide(reviewer(red), item, 'withdraw')).status).toBe(200);
    }
  });

  it('do not let them upload the content of their own publication', async () => {
    const name = 'com.acme/uploaded';
    const skill = aSkill(name);
    const reviewed = withOpaque(red, { ...ALICE, sub: 'sue' });
    expect((await reviewed.post('/v1/entries', { skill, claims: CLAIMS })).status).toBe(202);
    const [item] = (await itemsFor(reviewed, '?mine=true')).filter((one) => one.name === name);
    if (!item) throw new Error('The skill is not held');
    const reviewer = { ...ALICE, sub: 'rita' };
    expect((await decide(withJwt(red, reviewer), item, 'approve')).status).toBe(200);
    const body = aZip([{ name: 'SKILL.md', data: aSkillFile('uploaded', `The skill ${name}`) }]);
    const upload = (sender: Sender) =>
      sender.send('PUT', entryAt('skill', name, '/versions/1.0.0/content'), {
        body,
        headers: { 'Content-Type': 'application/zip' },
      });
    for (const sender of [withOpaque, withJwt])
      expectRefused(await upload(sender(red, { ...ALICE, sub: 'sue' })), 403, 'own_publication');
    expect((await upload(withOpaque(red, reviewer))).status).toBe(204);
  });
});

describe('a long subject', () => {
  const long = (end: string) => ({ ...ALICE, sub: `spiffe://${'x'.repeat(2_000)}/${end}` });

  it('is shown, recorded and compared as a whole', async () => {
    const [one, other] = [long('one'), long('other')];
    const item = await held(withJwt(red, one));
    expect(await itemsFor(withJwt(red, other), '?mine=true')).toEqual([]);
    expectRefused(await decide(withOpaque(red, one), item, 'approve'), 403, 'own_publication');
    expect((await decide(withJwt(red, other), item, 'approve')).status).toBe(200);
    expect((await admin().get(entryAt('server', item.name))).json).toMatchObject({
      versions: [{ publishedBy: { subject: one.sub } }],
    });
    for (const filter of ['subject', 'actor'])
      for (const { sub } of [one, other]) {
        const events = await auditOf(admin(), `${filter}=${encodeURIComponent(sub)}&outcome=allowed`);
        expect(new Set(events.map(({ actor }) => actor.subject))).toEqual(new Set([sub]));
      }
  });

  it.each<[what: string, accepted: string, refused: string]>([
    ['has 2,049 bytes', 'x'.repeat(2_048), 'x'.repeat(2_049)],
    ['has 2,050 bytes of UTF-8', 'é'.repeat(1_024), 'é'.repeat(1_025)],
    ['has a NUL', 'a b', 'a\0b'],
    ['has half of a surrogate pair', 'a\u{1f98a}', 'a\ud83e'],
  ])('is refused if it %s, even from introspection, as is a client', async (_what, accepted, refused) => {
    for (const claims of [
      (name: string) => ({ sub: name }),
      (name: string) => ({ sub: undefined, client_id: name }),
    ])
      for (const sender of [withJwt, withOpaque]) {
        const reply = await sender(red, claims(accepted)).get('/v1/me');
        expect([reply.status, reply.json]).toMatchObject([200, { subject: accepted }]);
        expectChallenge(await sender(red, claims(refused)).get('/v1/me'), { error: 'invalid_token' });
      }
  });
});
