import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { Document } from '../support/documents.js';
import { aServer } from '../support/documents.js';
import { expectRefused } from '../support/matchers.js';
import { aService } from '../support/service.js';

const GUIDE = readFileSync(join(import.meta.dirname, '../../docs/publishing.md'), 'utf8');

/** Role rules of the guide's example. */
function rolesOfGuide(): Document {
  const [, yaml = ''] = /^## From GitHub Actions$[^]*?```yaml\n([^]*?)```/m.exec(GUIDE) ?? [];
  return (parse(yaml) as { auth: { authz: { roles: Document } } }).auth.authz.roles;
}

/** Claims of a GitHub job token; all are strings. */
const JOB = {
  sub: 'repo:acme/weather:environment:release',
  repository: 'acme/weather',
  repository_owner: 'acme',
  repository_owner_id: '583231',
  environment: 'release',
  ref: 'refs/tags/v1.0.0',
  ref_type: 'tag',
  workflow: 'Publish',
};
const CLAIMS = { repository_owner: 'acme' };

describe('publishing with a GitHub Actions token and the role rule of docs/publishing.md', () => {
  const service = aService({ mode: 'full', roles: rolesOfGuide() })
    .source('published', { kind: 'managed', claims: { org: 'acme' } })
    .registry('main', { sources: ['published'] })
    .runs();
  const publish = (job: Document, name: string, claims: Document = CLAIMS) =>
    service.as(job).post('/v1/entries', { server: aServer(name), claims });

  it('is allowed with repository_owner as a claim', async () => {
    expect((await publish(JOB, 'com.acme/weather')).status).toBe(201);
  });

  it('is refused with claims the token lacks', async () => {
    const reply = await publish(JOB, 'com.acme/people', { org: 'acme' });
    expectRefused(reply, 400, 'claims_not_subset');
  });

  it.each([
    ['another owner', { repository_owner: 'contoso', repository: 'contoso/weather' }],
    ['another repository of the owner', { repository: 'acme/other' }],
    ['no environment', { environment: undefined }],
  ])('is refused for %s', async (_where, different) => {
    expectRefused(await publish({ ...JOB, ...different }, 'com.acme/other'), 403, 'role_required');
  });

  it('makes the entry visible to holders of the claim only', async () => {
    expect((await publish(JOB, 'com.acme/seen')).status).toBe(201);
    const path = '/registry/main/v0.1/servers/com.acme%2Fseen/versions/latest';
    expect((await service.as({ org: 'acme', repository_owner: 'acme' }).get(path)).status).toBe(200);
    expectRefused(await service.as({ org: 'acme' }).get(path), 404, 'entry_not_found');
  });
});
