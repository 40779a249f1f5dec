import type { JSX } from 'preact';
import { answer, api } from '../api/client.js';
import { useAnswer } from '../api/use-answer.js';
import { hashOf } from '../navigation/route.js';
import { Answered } from '../ui/answered.js';
import { ClaimChips } from '../ui/claims.js';
import { Empty } from '../ui/empty.js';
import { Plain } from '../ui/plain.js';

export function RegistriesPage(): JSX.Element {
  const asked = useAnswer('registries', (signal) => answer(api.GET('/v1/registries', { signal })));
  return (
    <>
      <div class="page-head">
        <h1>Registries</h1>
        <a class="button primary" href="#/registries/+new">
          New registry
        </a>
      </div>
      <Answered asked={asked}>
        {({ registries }) =>
          registries.length === 0 ? (
            <Empty title="There is no registry that you manage">
              A registry shows sources together, in an order, to whoever holds its claims.
            </Empty>
          ) : (
            <div class="table-frame">
              <table>
                <thead>
                  <tr>
                    <th scope="col">Name</th>
                    <th scope="col">Sources, in order</th>
                    <th scope="col">Claims to enter</th>
                    <th scope="col">Open to</th>
                  </tr>
                </thead>
                <tbody>
                  {registries.map(({ name, sources, claims, origin, anonymous, keys = [] }) => (
                    <tr key={name}>
                      <th scope="row">
                        <a href={hashOf(['registries', name])}>
                          <Plain text={name} class="break" />
                        </a>
                        {origin === 'config' && <p class="muted small-text">from the configuration</p>}
                      </th>
                      <td>
                        <Plain text={sources.join(' › ')} class="break" />
                      </td>
                      <td>
                        <ClaimChips claims={claims} none="everybody may enter" />
                      </td>
                      <td>
                        {anonymous && <span class="badge warn">without a token</span>}
                        {keys.length > 0 && (
                          <span class="badge plain">
                            {keys.length === 1 ? '1 key' : `${keys.length} keys`}
                          </span>
                        )}
                        {!anonymous && keys.length === 0 && <span class="muted">token holders</span>}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Answered>
    </>
  );
}
