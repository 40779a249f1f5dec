import { describe, expect, it } from 'vitest';
import { aServer, aSkill } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

const SERVERS = '/registry/main/v0.1/servers';
const SKILLS = '/registry/main/v0.1/x/dev.toolhive/skills';
const SERVER = `${SERVERS}/io.acme%2Fdeploy/versions`;
const SKILL = `${SKILLS}/io.acme/review`;

/** A path with empty parameters, and the equivalent without them. */
const CASES: readonly (readonly [path: string, same: string])[] = [
  [`${SERVERS}?cursor=`, SERVERS],
  [`${SERVERS}?limit=`, SERVERS],
  [`${SERVERS}?search=`, SERVERS],
  [`${SERVERS}?version=`, SERVERS],
  [`${SERVERS}?updated_since=`, SERVERS],
  [`${SERVERS}?include_deleted=`, SERVERS],
  [`${SERVERS}?search`, SERVERS],
  [`${SERVERS}?search=&version=&updated_since=`, SERVERS],
  [`${SERVERS}?cursor=&limit=&search=&updated_since=&version=&include_deleted=`, SERVERS],
  [`${SERVERS}?search=deploy&version=&limit=1`, `${SERVERS}?search=deploy&limit=1`],
  [`${SERVERS}?search=&version=latest&updated_since=`, `${SERVERS}?version=latest`],
  [`${SERVERS}?updated_since=2020-01-01T00:00:00Z&search=`, `${SERVERS}?updated_since=2020-01-01T00:00:00Z`],
  [`${SERVERS}?include_deleted=true&version=&search=&limit=`, `${SERVERS}?include_deleted=true`],
  [`${SERVER}?include_deleted=`, SERVER],
  [`${SERVER}?cursor=`, SERVER],
  [`${SERVER}?cursor=&include_deleted=`, SERVER],
  [`${SERVER}/latest?include_deleted=`, `${SERVER}/latest`],
  [`${SERVER}/1.0.0?include_deleted=`, `${SERVER}/1.0.0`],
  [`${SKILLS}?cursor=`, SKILLS],
  [`${SKILLS}?limit=`, SKILLS],
  [`${SKILLS}?search=`, SKILLS],
  [`${SKILLS}?status=`, SKILLS],
  [`${SKILLS}?cursor=&limit=&search=&status=`, SKILLS],
  [`${SKILLS}?search=&status=archived`, `${SKILLS}?status=archived`],
  [`${SKILL}?include_deleted=`, SKILL],
  [`${SKILL}/versions?cursor=&include_deleted=`, `${SKILL}/versions`],
  [`${SKILL}/versions/latest?include_deleted=`, `${SKILL}/versions/latest`],
];

describe('an empty parameter', () => {
  const service = aService()
    .source('main', {
      servers: [
        aServer('io.acme/deploy', '1.0.0'),
        aServer('io.acme/deploy', 'v1.1.0'),
        ...Array.from({ length: 40 }, (_, index) => aServer(`io.acme/s${index}`)),
      ],
      skills: [aSkill('io.acme/review'), aSkill('io.acme/brew', '0.1.0', { status: 'archived' })],
    })
    .registry('main', { sources: ['main'] })
    .runs();

  it.each(CASES)('counts as absent: %s', async (path, same) => {
    const [one, other] = [await service.get(path), await service.get(same)];
    expect([one.status, one.text, one.headers['etag']]).toEqual([200, other.text, other.headers['etag']]);
  });

  it('counts as absent next to a cursor, which carries the query', async () => {
    const first = (await service.get(`${SERVERS}?search=s1&limit=2`)).json as {
      metadata: { nextCursor: string };
    };
    const cursor = `cursor=${first.metadata.nextCursor}`;
    const next = await service.get(`${SERVERS}?${cursor}`);
    expect(next.json).toMatchObject({ metadata: { count: 2 } });
    expect((await service.get(`${SERVERS}?${cursor}&search=&version=&limit=`)).text).toBe(next.text);
  });

  it.each([
    `${SERVERS}?limit=%20`,
    `${SERVERS}?search=&search=`,
    `${SERVERS}?updated_since=%20`,
    `${SERVER}/latest?include_deleted=&include_deleted=true`,
    `${SKILLS}?status=%20`,
  ])('is refused with 400 if it contains white space or occurs twice: %s', async (path) => {
    expectRefused(await service.get(path), 400, 'invalid_parameter');
  });
});
