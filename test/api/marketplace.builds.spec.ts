import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ACME_DATA } from '../support/callers.js';
import { Clock } from '../support/clock.js';
import { aSkill } from '../support/documents.js';
import { aFolder } from '../support/folder.js';
import { GitClient } from '../support/git-client.js';
import { waitForLocks } from '../support/patient-reads.js';
import { aService } from '../support/service.js';
import { storeContent } from '../support/stored-content.js';

waitForLocks();

const clock = new Clock().runs();
const folder = aFolder();
const git = new GitClient(folder);
const temporary = process.env['TMPDIR'];

const ACME = { org: 'acme' };
const MARKETPLACE = { name: 'acme', owner: 'Acme' };
const REFERENCES = '/git/marketplace.git/info/refs?service=git-upload-pack';

const service = aService({ mode: 'full' })
  .source('acme', { claims: ACME, plugins: [aSkill('io.acme/review', '1.0.0')] })
  .registry('main', { sources: ['acme'], claims: ACME, marketplace: MARKETPLACE })
  .registry('other', { sources: ['acme'], claims: ACME, marketplace: { ...MARKETPLACE, name: 'other' } })
  .runs();

beforeAll(async () => {
  mkdirSync(folder.file('tmp'));
  process.env['TMPDIR'] = folder.file('tmp');
  await storeContent(service, 'plugin', 'io.acme/review', '1.0.0', { 'commands/review.md': 'Review' });
});
afterAll(() => {
  if (temporary === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = temporary;
});

const reader = () => service.as(ACME_DATA);
const clone = (registry: string) =>
  git.clone(
    `${service.origin.replace('//', `//git:${service.issuer.sign(ACME_DATA)}@`)}/registry/${registry}/git/marketplace.git`,
  );
const repositories = () =>
  readdirSync(folder.file('tmp')).filter((name) => name.startsWith('registry-marketplaces-'));

it('builds a repository once for requests that arrive during its build', async () => {
  await service.database.query('begin');
  await service.database.query('lock table content_chunk in access exclusive mode');
  const first = reader().get(`/registry/main${REFERENCES}`);
  await expect.poll(repositories).toHaveLength(1);
  // The caller's access is verified again after a long wait.
  clock.passes(2_500);
  const second = reader().get(`/registry/main${REFERENCES}`);
  expect((await reader().get('/registry/other/x/marketplace.json')).status).toBe(200);
  await service.database.query('rollback');
  expect([(await first).status, (await second).status]).toEqual([200, 200]);
  expect(repositories()).toHaveLength(1);
});

it('builds a repository again after the temporary folder is emptied', async () => {
  await clone('main');
  for (const name of repositories()) rmSync(folder.file(`tmp/${name}`), { recursive: true });
  await clone('main');
});

/** Makes `git fast-import` fail with this message, until the returned function is called. */
function failGit(message: string): () => void {
  const { PATH = '' } = process.env;
  const script = `#!/bin/sh
case "$*" in *fast-import*) echo "fatal: write error: ${message}" >&2; exit 128;; esac
PATH='${PATH}' exec git "$@"
`;
  writeFileSync(folder.file('git'), script, { mode: 0o755 });
  process.env['PATH'] = `${folder.path}:${PATH}`;
  return () => (process.env['PATH'] = PATH);
}

function loseFolder(): () => void {
  process.env['TMPDIR'] = folder.file('missing');
  return () => (process.env['TMPDIR'] = folder.file('tmp'));
}

it.each([
  ['there is no temporary folder', loseFolder],
  ['its disk is full', () => failGit('No space left on device')],
  ['its disk is read-only', () => failGit('Read-only file system')],
])('returns 503 storage_full while %s', async (_what, begin) => {
  for (const name of repositories()) rmSync(folder.file(`tmp/${name}`), { recursive: true });
  const end = begin();
  try {
    const { status, text } = await reader().get(`/registry/other${REFERENCES}`);
    expect([status, text]).toEqual([
      503,
      expect.stringMatching(/^The server cannot write to its own disk.*storage_full/s),
    ]);
  } finally {
    end();
  }
  await clone('other');
});
