import type { JSX } from 'preact';
import type { Source } from '../api/types.js';
import { FirstFew } from '../ui/first-few.js';
import { Plain } from '../ui/plain.js';
import { Table } from '../ui/table.js';

type SkippedEntry = NonNullable<Source['sync']>['skipped'][number];

const FEW = 50;

interface Props {
  readonly skipped: readonly SkippedEntry[];
  /** Of all, of which the API names the first ones. */
  readonly count: number;
}

export function Skipped({ skipped, count }: Props): JSX.Element {
  if (skipped.length === 0) return <></>;
  return (
    <section>
      <h2>
        Skipped entries <span class="muted">{count.toLocaleString('en')}</span>
      </h2>
      <FirstFew of={skipped} count={FEW}>
        {(shown) => (
          <Table columns={['Entry', 'Version', 'Problems']}>
            {shown.map(({ name, version, reasons }, place) => (
              <tr key={place}>
                <th scope="row">
                  {name === null ? (
                    <span class="muted">without a name</span>
                  ) : (
                    <Plain text={name} class="break" />
                  )}
                </th>
                <td>{version !== null && <Plain text={version} class="break" />}</td>
                <td>
                  {reasons.map((reason, at) => (
                    <p key={at}>
                      <Plain text={reason} class="break" />
                    </p>
                  ))}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </FirstFew>
      {count > skipped.length && (
        <p class="muted below">The first {skipped.length.toLocaleString('en')} are named.</p>
      )}
    </section>
  );
}
