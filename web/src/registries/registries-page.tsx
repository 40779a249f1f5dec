import type { JSX } from 'preact';
import { api, unwrap } from '../api/client.js';
import { ClaimChips } from '../claims/claims-editor.js';
import type { Route } from '../navigation/route.js';
import { ResourceList, ResourceNameCell, ResourceRoutes } from '../resources/resource-pages.js';
import { pluralize } from '../ui/format.js';
import { Table } from '../ui/table.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import { RegistryFormPage } from './registry-form-page.js';
import { RegistryPage } from './registry-page.js';

export function RegistryRoutes({ route }: { route: Route }): JSX.Element {
  return (
    <ResourceRoutes
      route={route}
      pages={{ List: RegistriesPage, Form: RegistryFormPage, One: RegistryPage }}
    />
  );
}

function RegistriesPage(): JSX.Element {
  return (
    <ResourceList
      resource="registries"
      read={async (query, signal) => {
        const list = api.GET('/v1/registries', { params: { query }, ...(signal && { signal }) });
        const { registries, metadata } = await unwrap(list);
        return { items: registries, next: metadata.nextCursor };
      }}
      description="A registry combines sources in order and shows them to people who hold its claims."
    >
      {(registries) => (
        <Table columns={['Name', 'Sources', 'Required claims', 'Anonymous access']}>
          {registries.map((registry) => {
            const { name, sources, claims, anonymous, keys = [] } = registry;
            return (
              <tr key={name}>
                <ResourceNameCell resource="registries" item={registry} />
                <td>
                  <UntrustedText text={sources.join(' › ')} class="break" />
                </td>
                <td>
                  <ClaimChips claims={claims} none="none" />
                </td>
                <td>
                  {anonymous && <span class="badge warn">open without a token</span>}
                  {keys.length > 0 && <span class="badge plain">{pluralize(keys.length, 'key')}</span>}
                  {!anonymous && keys.length === 0 && <span class="muted">no</span>}
                </td>
              </tr>
            );
          })}
        </Table>
      )}
    </ResourceList>
  );
}
