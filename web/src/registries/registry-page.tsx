import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { answer, api } from '../api/client.js';
import { failureOf } from '../api/failure.js';
import type { Registry, RegistrySettings } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { goTo, hashOf } from '../navigation/route.js';
import { DangerButton, useAct } from '../ui/act.js';
import { Answered } from '../ui/answered.js';
import { ClaimChips } from '../ui/claims.js';
import { Plain } from '../ui/plain.js';
import { Refusal } from '../ui/refusal.js';
import { Shadowed } from './shadowed.js';
import { SourceOrder } from './source-order.js';

interface Read {
  readonly registry: Registry;
  readonly etag: string | null;
}

export async function readRegistry(name: string, signal: AbortSignal): Promise<Read> {
  const { data, error, response } = await api.GET('/v1/registries/{name}', {
    params: { path: { name } },
    signal,
  });
  if (!data) throw failureOf(response.status, error);
  return { registry: data, etag: response.headers.get('ETag') };
}

/** What a PUT takes of what a GET gave. */
export function settingsOf({ sources, claims, anonymous, keys, publishClaims }: Registry): RegistrySettings {
  return { sources, claims, anonymous, keys, publishClaims };
}

export async function putRegistry(name: string, etag: string | null, body: RegistrySettings): Promise<void> {
  const header = etag === null ? {} : { 'If-Match': etag };
  await answer(api.PUT('/v1/registries/{name}', { params: { path: { name }, header }, body }));
}

export function RegistryPage({ name }: { name: string }): JSX.Element {
  const asked = useAnswer(name, (signal) => readRegistry(name, signal));
  return (
    <>
      <p class="trail">
        <a href="#/registries">← Registries</a>
      </p>
      <Answered asked={asked}>{(read) => <Shown key={read.etag} {...read} again={asked.again} />}</Answered>
    </>
  );
}

function Shown({ registry, etag, again }: Read & { again: () => void }): JSX.Element {
  const { name, origin, claims, anonymous, keys = [], publishClaims } = registry;
  const [sources, setSources] = useState(registry.sources);
  const isChanged = sources.join(' ') !== registry.sources.join(' ');
  const save = useAct(async () => {
    await putRegistry(name, etag, { ...settingsOf(registry), sources: [...sources] });
    again();
  });
  return (
    <div class="stack">
      <div class="page-head">
        <h1>
          <Plain text={name} class="break" />
        </h1>
        <p class="buttons">
          <a class="button" href={hashOf(['catalogue', name])}>
            Catalogue
          </a>
          {origin === 'api' && (
            <>
              <a class="button" href={hashOf(['registries', name, 'edit'])}>
                Edit
              </a>
              <DangerButton
                label="Delete"
                question={`Delete the registry ${name}?`}
                act={async () => {
                  await answer(api.DELETE('/v1/registries/{name}', { params: { path: { name } } }));
                  goTo('#/registries');
                }}
              >
                Its address answers 404 from then on. Sources and entries stay.
              </DangerButton>
            </>
          )}
        </p>
      </div>
      <dl class="facts">
        <dt>Declared</dt>
        <dd>
          {origin === 'config' ? 'in the configuration file, and changed there only' : 'through the API'}
        </dd>
        <dt>To enter</dt>
        <dd>
          <ClaimChips claims={claims} none="everybody may enter" />
        </dd>
        {anonymous && (
          <>
            <dt>Without a token</dt>
            <dd>
              <ClaimChips claims={anonymous.claims} />
            </dd>
          </>
        )}
        {keys.map((key) => (
          <>
            <dt>Key {key.name}</dt>
            <dd>
              <ClaimChips claims={key.claims} />{' '}
              {key.expires !== undefined && <span class="muted">until {key.expires}</span>}
            </dd>
          </>
        ))}
        {publishClaims && (
          <>
            <dt>Publishes with</dt>
            <dd>
              <ClaimChips claims={publishClaims} />
            </dd>
          </>
        )}
      </dl>
      <section>
        <h2>Order of sources</h2>
        <p class="muted">
          Where a name is in several, the first source whose entry somebody may see provides it.
        </p>
        <SourceOrder sources={sources} change={origin === 'api' ? setSources : undefined} />
        {isChanged && (
          <p class="buttons form-end">
            <button type="button" class="primary" onClick={save.run} disabled={save.isUnderWay}>
              Save the order
            </button>
            <button type="button" onClick={() => setSources(registry.sources)}>
              As it was
            </button>
          </p>
        )}
        {save.failure && <Refusal failure={save.failure} />}
      </section>
      <Shadowed name={name} sources={registry.sources} />
    </div>
  );
}
