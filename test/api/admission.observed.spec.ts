import { describe, expect, it } from 'vitest';
import { decide, type Item, itemsFor } from '../support/admission.js';
import { aServer } from '../support/documents.js';
import { call } from '../support/http.js';
import { aService } from '../support/service.js';
import { within } from '../support/within.js';

const ACME = { org: 'acme' };
const WRITER = { sub: 'wim', org: 'acme', role: 'writer' };
const REVIEWER = { sub: 'rita', org: 'acme', team: 'payments' };

interface Explanation {
  answer: { status: number; code?: string };
  steps: { step: string; outcome: string; because?: string }[];
}

describe('a held version', () => {
  const service = aService({ mode: 'full' })
    .source('internal', {
      kind: 'managed',
      settings: { review: [{ names: ['com.acme/payments-*'], reviewers: { team: 'payments' } }] },
      claims: ACME,
    })
    .source('mirror', {
      servers: [aServer('com.up/stream')],
      admission: { minAge: '7d' },
      claims: ACME,
    })
    .registry('main', { sources: ['internal', 'mirror'], claims: ACME })
    .runs();
  const name = 'com.acme/payments-api';
  const explain = async (claims: Record<string, unknown>, question: object): Promise<Explanation> =>
    (await service.as(claims).post('/v1/access/explain', { registry: 'main', ...question }))
      .json as Explanation;
  const admissionStep = ({ steps }: Explanation) => steps.find(({ step }) => step === 'admission');

  it('is explained to publishers before and after they publish', async () => {
    const question = { action: 'publish', claims: ACME, entry: { type: 'server', name, version: '1.0.0' } };
    const before = await explain(WRITER, question);
    expect(before.answer.status).toBe(202);
    expect(admissionStep(before)).toMatchObject({ outcome: 'passed', because: 'A reviewer must approve it' });
    const free = { ...question, entry: { type: 'server', name: 'com.acme/free' } };
    expect((await explain(WRITER, free)).answer.status).toBe(201);
    await service.as(WRITER).post('/v1/entries', { server: aServer(name), claims: ACME });
    expect((await explain(WRITER, question)).answer).toEqual({ status: 409, code: 'version_exists' });
  });

  it('is explained to callers who see the item, and is absent for others', async () => {
    const admin = { sub: 'ada', org: 'acme', role: ['admin', 'super-admin'] };
    const question = { entry: { type: 'server', name: 'com.up/stream' } };
    const explained = await explain(admin, question);
    expect(explained.answer).toEqual({ status: 404, code: 'entry_not_found' });
    expect(admissionStep(explained)?.because).toMatch(/^version 1.0.0 is held: .* 7d /);
    for (const claims of [WRITER, REVIEWER])
      expect(admissionStep(await explain(claims, question))).toBeUndefined();
  });

  it('is counted by metrics', async () => {
    // A scrape omits metrics that the database does not return within a second.
    const metricsShow = (...lines: string[]) =>
      within(20_000, async () => {
        const { text } = await call(`${service.internalOrigin}/metrics`);
        for (const line of lines) expect(text).toContain(`registry_admission_${line}`);
      });
    await metricsShow(
      'held_items{source="internal",kind="managed"} 1',
      'held_items{source="mirror",kind="file"} 1',
      'due_items{source="mirror",kind="file"} 0',
      'oldest_age_seconds{source="mirror",kind="file"} 0',
    );
    const [item] = await itemsFor(service.as(REVIEWER));
    await decide(service.as(REVIEWER), item as Item, 'approve');
    await metricsShow('held_items{source="internal",kind="managed"} 0');
  });
});

describe('review in anonymous mode', () => {
  const service = aService().runs();
  const review = [{ names: ['a/*'], reviewers: { team: 'x' } }];

  it('is refused, in the file and through the API', async () => {
    const reply = await service.put('/v1/sources/made', { managed: { review } });
    expect([reply.status, (reply.json as { code: string }).code]).toEqual([400, 'invalid_body']);
    expect((await service.put('/v1/sources/made', { managed: {} })).status).toBe(201);
    const declared = service.reload((edited) =>
      edited.source('other', { kind: 'managed', settings: { review } }),
    );
    await expect(declared).rejects.toThrow(/managed\.review.*needs auth\.mode oauth/s);
    service.withoutSource('other');
  });

  it('is refused with its path, as is admission for unsynced sources', async () => {
    const declared = service.reload((edited) => edited.source('other', { kind: 'managed', admission: {} }));
    await expect(declared).rejects.toThrow(/admission.*is not allowed for a source of kind managed/s);
    service.withoutSource('other');
  });
});
