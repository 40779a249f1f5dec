import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { answer, api } from '../api/client.js';
import type { Registry } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { DeclaredBy, DeclaredHead, ToAll } from '../declared/declared-head.js';
import { hashOf } from '../navigation/route.js';
import { useAct } from '../ui/act.js';
import { Answered } from '../ui/answered.js';
import { ClaimChips } from '../ui/claims.js';
import { Fact, Facts } from '../ui/facts.js';
import { Refusal } from '../ui/refusal.js';
import { putRegistry, readRegistry, settingsOf, type StoredRegistry } from './registry-settings.js';
import { Shadowed } from './shadowed.js';
import { SourceOrder } from './source-order.js';

export function RegistryPage({ name }: { name: string }): JSX.Element {
  const asked = useAnswer(name, (signal) => readRegistry(name, signal));
  return (
    <>
      <ToAll place="registries" />
      <Answered asked={asked}>{(read) => <Shown key={read.etag} {...read} again={asked.again} />}</Answered>
    </>
  );
}

function Shown({ registry, etag, again }: StoredRegistry & { again: () => void }): JSX.Element {
  const { name, origin } = registry;
  return (
    <div class="stack">
      <DeclaredHead
        place="registries"
        name={name}
        origin={origin}
        deleting="Its address answers 404 from then on. Sources and entries stay."
        remove={() => answer(api.DELETE('/v1/registries/{name}', { params: { path: { name } } }))}
      >
        <a class="button" href={hashOf(['catalogue', name])}>
          Catalogue
        </a>
      </DeclaredHead>
      <WhoMayEnter registry={registry} />
      <Order registry={registry} etag={etag} again={again} />
      <Shadowed name={name} sources={registry.sources} />
    </div>
  );
}

function WhoMayEnter({ registry }: { registry: Registry }): JSX.Element {
  const { origin, claims, anonymous, keys = [], publishClaims } = registry;
  return (
    <Facts>
      <DeclaredBy origin={origin} />
      <Fact name="To enter">
        <ClaimChips claims={claims} none="everybody may enter" />
      </Fact>
      {anonymous && (
        <Fact name="Without a token">
          <ClaimChips claims={anonymous.claims} />
        </Fact>
      )}
      {keys.map((key) => (
        <Fact key={key.name} name={`Key ${key.name}`}>
          <ClaimChips claims={key.claims} />{' '}
          {key.expires !== undefined && <span class="muted">until {key.expires}</span>}
        </Fact>
      ))}
      {publishClaims && (
        <Fact name="Publishes with">
          <ClaimChips claims={publishClaims} />
        </Fact>
      )}
    </Facts>
  );
}

function Order({ registry, etag, again }: StoredRegistry & { again: () => void }): JSX.Element {
  const { name, origin } = registry;
  const [sources, setSources] = useState(registry.sources);
  const isChanged = sources.join(' ') !== registry.sources.join(' ');
  const save = useAct(async () => {
    await putRegistry(name, etag, { ...settingsOf(registry), sources: [...sources] });
    again();
  });
  return (
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
          <button
            type="button"
            onClick={() => {
              setSources(registry.sources);
              save.forget();
            }}
          >
            As it was
          </button>
        </p>
      )}
      {save.failure && <Refusal failure={save.failure} />}
    </section>
  );
}
