import type { JSX } from 'preact';
import { answer, api } from '../api/client.js';
import { useAnswer } from '../api/use-answer.js';
import { DeclaredList, DeclaredName } from '../declared/declared-list.js';
import { ClaimChips } from '../ui/claims.js';
import { counted } from '../ui/counted.js';
import { Plain } from '../ui/plain.js';
import { Table } from '../ui/table.js';

export function RegistriesPage(): JSX.Element {
  const asked = useAnswer(
    'registries',
    async (signal) => (await answer(api.GET('/v1/registries', { signal }))).registries,
  );
  return (
    <DeclaredList
      place="registries"
      asked={asked}
      whatItIs="A registry shows sources together, in an order, to whoever holds its claims."
    >
      {(registries) => (
        <Table columns={['Name', 'Sources', 'To enter', 'Open to']}>
          {registries.map((registry) => {
            const { name, sources, claims, anonymous, keys = [] } = registry;
            return (
              <tr key={name}>
                <DeclaredName place="registries" of={registry} />
                <td>
                  <Plain text={sources.join(' › ')} class="break" />
                </td>
                <td>
                  <ClaimChips claims={claims} none="everybody may enter" />
                </td>
                <td>
                  {anonymous && <span class="badge warn">everybody, without a token</span>}
                  {keys.length > 0 && <span class="badge plain">{counted(keys.length, 'key')}</span>}
                  {!anonymous && keys.length === 0 && <span class="muted">token holders</span>}
                </td>
              </tr>
            );
          })}
        </Table>
      )}
    </DeclaredList>
  );
}
