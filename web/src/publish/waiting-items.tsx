import type { JSX } from 'preact';
import { HoldReasons, readItems } from '../admission/items.js';
import type { AdmissionItem, AdmissionQuery } from '../api/types.js';
import { hashOf } from '../navigation/route.js';
import { useQuery } from '../ui/query.js';
import { Table } from '../ui/table.js';
import { UntrustedText } from '../ui/untrusted-text.js';

const MAX_ITEMS = 50;

interface Props {
  /** Which items to show; the caller sees their own and those that they review. */
  readonly filter: AdmissionQuery;
  /** Changes when the items may have changed. */
  readonly refreshKey: string;
}

/** Versions and changes that wait for review; nothing if there are none. */
export function WaitingItems({ filter, refreshKey }: Props): JSX.Element {
  const query = useQuery(JSON.stringify([filter, refreshKey]), (signal) =>
    readItems({ ...filter, limit: MAX_ITEMS }, signal),
  );
  const items = query.value?.items ?? [];
  if (items.length === 0) return <></>;
  return (
    <section class="waiting-items">
      <h2>Waiting for review</h2>
      <Table columns={['What', 'Why']}>
        {items.map((item) => (
          <tr key={item.id}>
            <th scope="row">
              <a href={hashOf(['review', item.id])}>
                <UntrustedText text={titleOf(item)} class="break" />
              </a>
            </th>
            <td>
              <HoldReasons reasons={item.reasons} />
            </td>
          </tr>
        ))}
      </Table>
      {query.value?.next !== undefined && (
        <p class="below">
          <a href={hashOf(['review'], { view: 'mine' })}>Show all</a>
        </p>
      )}
    </section>
  );
}

function titleOf({ name, version, change }: AdmissionItem): string {
  const what = version === undefined ? name : `${name} ${version}`;
  if (!change) return what;
  return `${what}: change to its ${change.claims ? 'claims' : 'status'}`;
}
