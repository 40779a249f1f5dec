import type { JSX } from 'preact';
import type { Source } from '../api/types.js';
import { Plain } from '../ui/plain.js';

type SkippedEntry = NonNullable<Source['sync']>['skipped'][number];

export function Skipped({ skipped }: { skipped: readonly SkippedEntry[] }): JSX.Element {
  if (skipped.length === 0) return <></>;
  return (
    <section>
      <h2>
        Skipped entries <span class="muted">{skipped.length}</span>
      </h2>
      <div class="table-frame">
        <table>
          <thead>
            <tr>
              <th scope="col">Entry</th>
              <th scope="col">Version</th>
              <th scope="col">Why it is not valid</th>
            </tr>
          </thead>
          <tbody>
            {skipped.map(({ name, version, reasons }, place) => (
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
          </tbody>
        </table>
      </div>
    </section>
  );
}
