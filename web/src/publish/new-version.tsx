import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { api, unwrap } from '../api/client.js';
import type { Claims, EntryType } from '../api/types.js';
import { QueryResult, useQuery } from '../ui/query.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import type { Draft } from './draft.js';

interface Props {
  readonly type: EntryType;
  readonly name: string;
  readonly hasDraft: boolean;
  /** Called with the new draft, or with null to keep the existing one. */
  readonly done: (draft: Draft | null) => void;
}

/** Prefills the form with an entry's latest document and claims. A draft is replaced only on request. */
export function NewVersion({ type, name, hasDraft, done }: Props): JSX.Element {
  const query = useQuery(hasDraft ? null : `${type} ${name}`, (signal) => readLatest(type, name, signal));
  const { value } = query;
  useEffect(() => {
    if (value) done(value);
  }, [value]);
  if (!hasDraft) return <QueryResult query={query}>{() => null}</QueryResult>;
  return (
    <div class="notice">
      <p>
        You have a draft that is not published. Replace it with a new version of{' '}
        <UntrustedText text={name} class="break" />?
      </p>
      <p class="buttons below">
        <button
          type="button"
          class="small"
          onClick={() => void readLatest(type, name).then(done, () => done(null))}
        >
          Replace the draft
        </button>
        <button type="button" class="small" onClick={() => done(null)}>
          Keep the draft
        </button>
      </p>
    </div>
  );
}

async function readLatest(type: EntryType, name: string, signal?: AbortSignal): Promise<Draft> {
  const path = { type, name };
  const options = signal ? { signal } : {};
  const { claims, versions } = await unwrap(
    api.GET('/v1/entries/{type}/{name}', { params: { path }, ...options }),
  );
  const version = (versions.find(({ isLatest }) => isLatest) ?? versions[0])?.version ?? '';
  const latest = await unwrap(
    api.GET('/v1/entries/{type}/{name}/versions/{version}', {
      params: { path: { ...path, version } },
      ...options,
    }),
  );
  const document = { ...latest[type], version: nextVersion(version) };
  return { text: `${JSON.stringify(document, null, 2)}\n`, claims: claims as Claims, type };
}

/** `1.2.3` → `1.2.4`; other versions are kept for the user to change. */
function nextVersion(version: string): string {
  return version.replace(
    /^(v?\d+\.\d+\.)(\d{1,15})$/,
    (_, start: string, patch: string) => `${start}${Number(patch) + 1}`,
  );
}
