import { createHash, randomUUID } from 'node:crypto';
import { canonicalClaims, type Claims } from '../../dist/claims/claims.js';
import type { Document } from './documents.js';
import type { ServiceUnderTest } from './service.js';

/** Inserts servers with claims into a managed source, as if published. */
export async function addManaged(
  service: ServiceUnderTest,
  source: string,
  published: { server: Document; claims: Claims }[],
): Promise<void> {
  for (const { server, claims } of published) {
    const document = JSON.stringify(server);
    const canonical = canonicalClaims(claims);
    await service.database.query(
      `insert into claim_set (claims, digest) values ($1, $2) on conflict (digest) do nothing`,
      [canonical, sha256(canonical)],
    );
    await service.database.query(
      `with added as (
         insert into entry (source_id, type, name, claim_set_id)
         select s.id, 'server', $2, c.id from source s, claim_set c where s.name = $1 and c.digest = $3
         returning id
       )
       insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
         published_at, updated_at, is_latest, search)
       select id, $4, $5, $6, $7, 'active', now(), now(), now(), true, lower($2) from added`,
      [
        source,
        server['name'],
        sha256(canonical),
        server['version'],
        randomUUID(),
        document,
        sha256(document),
      ],
    );
  }
  await service.database.query(`update source set revision = revision + 1 where name = $1`, [source]);
}

/** Inserts this many copies of a one-version server under different names. A sync would take seconds. */
export async function addCopies(
  service: Pick<ServiceUnderTest, 'database'>,
  name: string,
  copies: number,
): Promise<void> {
  await service.database.query(
    `with added as (
       insert into entry (source_id, type, name, claim_set_id)
       select source_id, type, name || '-' || n, claim_set_id from entry, generate_series(1, $2::int) n where name = $1
       returning id
     )
     insert into entry_version (entry_id, version, version_key, document, digest, status, status_changed_at,
       published_at, updated_at, is_latest, search)
     select a.id, v.version, v.version_key, v.document, v.digest, v.status, v.status_changed_at,
       v.published_at, v.updated_at, v.is_latest, v.search
     from added a, entry_version v join entry e on e.id = v.entry_id where e.name = $1`,
    [name, copies],
  );
  await service.database.query(
    `update source s set revision = s.revision + 1 from entry e where e.name = $1 and s.id = e.source_id`,
    [name],
  );
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
