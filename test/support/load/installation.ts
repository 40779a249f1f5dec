import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { aCatalogue, type Document } from '../documents.js';
import type { Sender } from '../http.js';
import type { Source, ModelState } from '../model/model.js';
import type { StoredVersion } from './catalogue.js';
import { files, putRegistry, putSource } from './changes.js';

const PATIENCE_MS = 60_000;

/** Makes the service show this state, through its admin API. */
export async function install(state: ModelState, superAdmin: Sender, folder: string): Promise<void> {
  files.root = folder;
  for (const source of state.sources) {
    if (source.kind === 'managed') done(await superAdmin.put(`/v1/sources/${source.name}`, { managed: {} }));
    else {
      const { servers, skills } = documentsOf(source);
      await writeFile(join(folder, `${source.name}.json`), JSON.stringify(aCatalogue(servers, skills)));
      const { path, body } = putSource(source.name, source.claims);
      done(await superAdmin.put(path, body));
    }
  }
  for (const { kind, entries } of state.sources)
    if (kind === 'managed')
      for (const { type, claims, versions } of entries)
        for (const { document } of versions as readonly StoredVersion[])
          done(await superAdmin.post('/v1/entries', { [type]: JSON.parse(document) as Document, claims }));
  for (const { kind, name } of state.sources) if (kind === 'file') await synced(superAdmin, name);
  for (const registry of state.registries) {
    const { path, body } = putRegistry(registry);
    done(await superAdmin.put(path, body));
  }
}

function documentsOf({ entries }: Source): { servers: Document[]; skills: Document[] } {
  const of = (wanted: string) =>
    entries
      .filter(({ type }) => type === wanted)
      .flatMap(({ versions }) =>
        (versions as readonly StoredVersion[]).map(({ document }) => JSON.parse(document) as Document),
      );
  return { servers: of('server'), skills: of('skill') };
}

async function synced(superAdmin: Sender, name: string): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const { sync } = (await superAdmin.get(`/v1/sources/${name}`)).json as { sync: { status: string } };
    if (sync.status === 'complete') return;
    if (Date.now() > deadline) throw new Error(`The source ${name} is still ${sync.status}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

function done({ status, text }: { status: number; text: string }): void {
  if (status !== 200 && status !== 201) throw new Error(`The load could not be prepared: ${status} ${text}`);
}
