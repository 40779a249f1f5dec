import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { API_BASE, failureOf, send } from '../api/client.js';
import type { AuditQuery } from '../api/types.js';
import { useAction } from '../ui/action.js';
import { Refusal } from '../ui/refusal.js';

const FORMATS = {
  csv: { title: 'CSV', type: 'text/csv' },
  ndjson: { title: 'NDJSON', type: 'application/x-ndjson' },
} as const;
type Format = keyof typeof FORMATS;

/** The browser keeps the file in memory until it is complete. */
const MAX_BYTES = 64 * 1024 * 1024;
const TIMEOUT_MS = 10 * 60_000;

/** Saves the events that match the filters, as far as the caller may see them. */
export function ExportEvents({ query }: { query: AuditQuery }): JSX.Element {
  const [isCut, setCut] = useState(false);
  const exports = {
    csv: useAction(async () => setCut(await save('csv', query))),
    ndjson: useAction(async () => setCut(await save('ndjson', query))),
  };
  const formats = Object.keys(FORMATS) as Format[];
  return (
    <>
      <p class="buttons export">
        {formats.map((format) => (
          <button
            key={format}
            type="button"
            class="small"
            onClick={exports[format].run}
            disabled={formats.some((each) => exports[each].isPending)}
          >
            {exports[format].isPending ? 'Exporting…' : `Export ${FORMATS[format].title}`}
          </button>
        ))}
      </p>
      {formats.map((format) => {
        const { failure } = exports[format];
        return failure && <Refusal key={format} failure={failure} />;
      })}
      {isCut && (
        <p class="notice" role="status">
          The file ends after 64 MiB. For the rest, choose an earlier end, or read the API.
        </p>
      )}
    </>
  );
}

/** Returns whether the file was cut. */
async function save(format: Format, query: AuditQuery): Promise<boolean> {
  const filters = Object.entries(query).filter(([key]) => key !== 'limit');
  const parameters = new URLSearchParams(filters.map(([key, value]) => [key, String(value)]));
  const headers = { Accept: FORMATS[format].type };
  const response = await send(new Request(`${API_BASE}/v1/audit?${parameters}`, { headers }), TIMEOUT_MS);
  if (!response.ok || !response.body)
    throw failureOf(response.status, await response.json().catch(() => undefined));
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const reader = response.body.getReader();
  let bytes = 0;
  let isCut = false;
  for (let part = await reader.read(); part.value; part = await reader.read()) {
    bytes += part.value.length;
    isCut = bytes > MAX_BYTES;
    // Keeps only whole lines.
    const end = isCut ? part.value.lastIndexOf(10) + 1 : part.value.length;
    parts.push(part.value.slice(0, end));
    if (isCut) break;
  }
  if (isCut) await reader.cancel();
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(parts, { type: FORMATS[format].type }));
  link.download = `activity.${format}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  return isCut;
}
