import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { aCatalogue, aServer, type Document } from './documents.js';
import type { GitRepository } from './git-repository.js';
import type { GitServer } from './git-server.js';
import { versionsIn } from './matchers.js';
import type { ServiceUnderTest } from './service.js';

/** A registry file with servers of these names, as text. */
export function aFileOf(...names: string[]): string {
  return JSON.stringify(aCatalogue(names.map((name) => aServer(`io.acme/${name}`))));
}

/** Adds a git source `main`, in a registry of that name, once the repositories exist. */
export function readsGit(
  service: ServiceUnderTest,
  git: GitServer,
  prepare: () => Promise<Document> | Document,
): ServiceUnderTest {
  beforeAll(async () => {
    const settings = await prepare();
    service
      .source('main', { kind: 'git', settings: { repository: git.url('acme'), ...settings } })
      .registry('main', { sources: ['main'] });
  });
  return service.runs();
}

/**
 * Adds a git source that reads a repository of its name, in a registry of that name. Call before `runs()`.
 *
 * @param prepare writes the repository and returns the settings of the source.
 */
export function aGitSource(
  service: ServiceUnderTest,
  git: GitServer,
  name: string,
  prepare: (repository: GitRepository) => Promise<Document>,
  objectFormat?: 'sha1' | 'sha256',
) {
  const repository = git.repository(name, objectFormat);
  const reads = (settings: Document, filter?: Document) =>
    service
      .source(name, { kind: 'git', settings: { repository: git.url(name), ...settings }, filter })
      .registry(name, { sources: [name] });
  beforeAll(async () => void reads(await prepare(repository)));
  return {
    repository,
    /** Declares the source with other settings. */
    reads,
    lsRemote: [`GET /${name}.git/info/refs`, `POST /${name}.git/git-upload-pack`],
    /** Returns and clears the recorded requests for the repository. */
    requests: () => git.takeRequests().filter((request) => request.includes(`/${name}.git/`)),
    synced: () => service.synced(name),
    names: () => namesIn(service, name),
  };
}

/** The names of the served servers. */
export async function namesIn(service: ServiceUnderTest, registry = 'main'): Promise<string[]> {
  const versions = versionsIn(await service.get(`/registry/${registry}/v0.1/servers?limit=100`));
  return versions.map((version) => version.replace(/^io\.acme\/(.*)@1\.0\.0$/, '$1'));
}

/** Sets a temporary directory for this file's tests; returns a function that lists what git left there. */
export function aTemporaryDirectory(): () => Promise<string[]> {
  const { TMPDIR } = process.env;
  let own = '';
  beforeAll(async () => {
    own = await mkdtemp(join(tmpdir(), 'own-'));
    process.env['TMPDIR'] = own;
  });
  afterAll(async () => {
    if (TMPDIR === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = TMPDIR;
    await rm(own, { recursive: true, force: true });
  });
  return async () => (await readdir(own)).filter((name) => name.startsWith('registry-git-'));
}
