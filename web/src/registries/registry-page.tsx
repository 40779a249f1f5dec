import { type ComponentChildren, Fragment, type JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api, API_BASE, unwrap } from '../api/client.js';
import type { Registry, RegistrySettings } from '../api/types.js';
import { AccessChanges } from '../claims/access-changes.js';
import { ClaimChips } from '../claims/claims-editor.js';
import { ConnectRegistry } from '../connect/connect-page.js';
import { settingsOf } from '../forms/schema.js';
import { hashOf, useRoute } from '../navigation/route.js';
import { BackToList, OriginDetail, ResourceHeader } from '../resources/resource-pages.js';
import { isOffered, useSession } from '../session/session.js';
import { useAction } from '../ui/action.js';
import { HiddenTitle, QueryResult, useQuery } from '../ui/query.js';
import { Refusal } from '../ui/refusal.js';
import { Detail, DetailList } from '../ui/table.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import { putRegistry, readAccessChanges, readRegistry, type StoredRegistry } from './registry-form-page.js';
import { ShadowedNames } from './shadowed-names.js';
import { SourceOrder } from './source-order.js';

export function RegistryPage({ name }: { name: string }): JSX.Element {
  const query = useQuery(name, (signal) => readRegistry(name, signal));
  return (
    <>
      <BackToList resource="registries" />
      {!query.value && <HiddenTitle text={name} />}
      <QueryResult query={query}>
        {(stored) => <RegistryDetails key={stored.etag} {...stored} refresh={query.refetch} />}
      </QueryResult>
    </>
  );
}

function RegistryDetails({ registry, etag, refresh }: StoredRegistry & { refresh: () => void }): JSX.Element {
  const { name, origin } = registry;
  const isNew = useRoute().query.has('created');
  return (
    <div class="stack">
      <ResourceHeader
        resource="registries"
        name={name}
        origin={origin}
        deletionNote="Requests to its URL will return 404. Sources and entries are kept."
        remove={() => unwrap(api.DELETE('/v1/registries/{name}', { params: { path: { name } } }))}
      >
        <a class="button" href={hashOf(['catalogue', name])}>
          Catalog
        </a>
      </ResourceHeader>
      {isNew && (
        <p class="notice good">
          The registry is ready. <a href={hashOf(['connect', name])}>Connect your editor to it</a>
        </p>
      )}
      <HiddenEntries name={name} />
      <RegistrySummary registry={registry} />
      <OrderSection registry={registry} etag={etag} refresh={refresh} />
      <ShadowedNames name={name} sources={registry.sources} />
      <details class="below">
        <summary>Connect clients</summary>
        <ConnectRegistry registry={name} />
      </details>
    </div>
  );
}

/**
 * The feed of changes: a link if the registry is open, because a browser cannot send the token that other registries
 * need.
 */
function FeedLink({ registry: { name, anonymous, keys = [] } }: { registry: Registry }): JSX.Element {
  const { settings } = useSession();
  const address = `${API_BASE}/registry/${encodeURIComponent(name)}/x/feed.atom`;
  if (anonymous || settings.mode === 'anonymous')
    return (
      <a href={address} class="break" target="_blank" rel="noopener">
        {address}
      </a>
    );
  return (
    <>
      <code class="break">{address}</code>{' '}
      <span class="muted">(needs a token{keys.length > 0 && ', or a key: …/k/{key}/x/feed.atom'})</span>
    </>
  );
}

/** How the page shows each setting. A new setting compiles only with a row here; `OrderSection` shows the sources. */
const DETAILS: Readonly<
  Record<Exclude<keyof RegistrySettings, 'sources'>, (registry: Registry) => ComponentChildren>
> = {
  claims: ({ claims }) => (
    <Detail name="Required claims">
      <ClaimChips claims={claims} none="none" />
    </Detail>
  ),
  anonymous: ({ anonymous }) =>
    anonymous && (
      <Detail name="Anonymous access">
        <ClaimChips claims={anonymous.claims} />
      </Detail>
    ),
  keys: ({ keys = [] }) =>
    keys.map((key) => (
      <Detail key={key.name} name={`Key ${key.name}`}>
        <ClaimChips claims={key.claims} />{' '}
        {key.expires !== undefined && <span class="muted">until {key.expires}</span>}
      </Detail>
    )),
  publishClaims: ({ publishClaims }) =>
    publishClaims && (
      <Detail name="Publish claims">
        <ClaimChips claims={publishClaims} />
      </Detail>
    ),
  marketplace: ({ marketplace }) =>
    marketplace && (
      <Detail name="Marketplace">
        {marketplace.name}{' '}
        <span class="muted">
          by <UntrustedText text={marketplace.owner} />
        </span>
      </Detail>
    ),
};

function RegistrySummary({ registry }: { registry: Registry }): JSX.Element {
  return (
    <DetailList>
      <OriginDetail origin={registry.origin} />
      {Object.entries(DETAILS).map(([setting, details]) => (
        <Fragment key={setting}>{details(registry)}</Fragment>
      ))}
      <Detail name="Atom feed">
        <FeedLink registry={registry} />
      </Detail>
    </DetailList>
  );
}

/** Warns about entries that only super-admins see, because they or the registry have no claims. */
function HiddenEntries({ name }: { name: string }): JSX.Element {
  const { value } = useQuery(name, (signal) =>
    unwrap(api.GET('/v1/registries/{name}/access', { params: { path: { name } }, signal })),
  );
  const hidden = (value?.claimSets ?? []).filter(({ sentence }) => sentence === 'super-admins only');
  const count = hidden.reduce((sum, each) => sum + each.count, 0);
  if (count === 0) return <></>;
  return (
    <p class="notice">
      Only super-admins see {hidden.length === value?.claimSets.length ? 'the' : 'some'} entries of this
      registry ({count.toLocaleString('en')}):{' '}
      {hidden.every(({ claims }) => Object.keys(claims).length === 0)
        ? 'these have no claims. Give claims to their source, or to published entries.'
        : 'the registry has no claims. Give it some.'}
    </p>
  );
}

function OrderSection({ registry, etag, refresh }: StoredRegistry & { refresh: () => void }): JSX.Element {
  const session = useSession();
  const { name, origin } = registry;
  const [sources, setSources] = useState(registry.sources);
  const isChanged = sources.join(' ') !== registry.sources.join(' ');
  const body = { ...settingsOf(registry), sources };
  const save = useAction(async () => {
    await putRegistry(name, etag, body);
    refresh();
  });
  return (
    <section>
      <h2>Source order</h2>
      <p class="muted">
        If several sources contain the same entry name, people see the first one that is visible to them.
      </p>
      <SourceOrder
        sources={sources}
        change={origin === 'api' ? setSources : undefined}
        hasLinks={isOffered(session, 'manageSources')}
      />
      <AccessChanges
        changed={isChanged ? sources.join(' ') : null}
        read={(signal) => readAccessChanges(name, body, signal)}
      />
      {isChanged && (
        <p class="buttons form-end">
          <button type="button" class="primary" onClick={save.run} disabled={save.isPending}>
            Save order
          </button>
          <button
            type="button"
            onClick={() => {
              setSources(registry.sources);
              save.reset();
            }}
          >
            Reset
          </button>
        </p>
      )}
      {save.failure && <Refusal failure={save.failure} />}
    </section>
  );
}
