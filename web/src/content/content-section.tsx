import type { JSX } from 'preact';
import { API_BASE, api, failureOf, send, unwrap } from '../api/client.js';
import type { ContentFiles } from '../api/types.js';
import { useAction } from '../ui/action.js';
import { formatBytes } from '../ui/format.js';
import { useQuery } from '../ui/query.js';
import { Refusal } from '../ui/refusal.js';
import { CollapsedList } from '../ui/table.js';
import { escapeInvisible, UntrustedText } from '../ui/untrusted-text.js';
import { MarketplaceSteps, readMarketplace } from './marketplace.js';
import { MembersSection, readMembers } from './members.js';

const FILES_SHOWN = 20;

interface Props {
  readonly registry: string;
  readonly type: 'skill' | 'plugin';
  readonly name: string;
  readonly version: string;
}

/** The files of a version, if it has any here. Appears immediately: later parts would move the earlier ones. */
export function ContentSection({ registry, type, name, version }: Props): JSX.Element {
  const [namespace = '', own = ''] = name.split('/');
  const path = { registry, type, namespace, name: own, version };
  const query = useQuery(JSON.stringify(path), async (signal) => {
    const files = api.GET('/registry/{registry}/x/content/{type}/{namespace}/{name}/{version}/files', {
      params: { path },
      signal,
    });
    const content = await unwrap(files);
    const [marketplace, readme, members] = await Promise.all([
      // Most registries are no marketplace, which is a 404.
      readMarketplace(registry, signal).catch(() => undefined),
      content.texts.length > 0 ? import('./readme.js') : undefined,
      readMembers(path, signal),
    ]);
    return { content, marketplace, readme, members };
  });
  // Most versions have no content here, which is a 404.
  if (!query.value) return <></>;
  const { content, marketplace, readme, members } = query.value;
  return (
    <>
      {marketplace && (
        <MarketplaceSteps registry={registry} marketplace={marketplace} entry={{ namespace, name: own }} />
      )}
      <MembersSection registry={registry} members={members} />
      {readme && content.texts.map((text) => <readme.Readme key={text.path} {...text} />)}
      <Files {...path} content={content} />
    </>
  );
}

interface FilesProps {
  readonly registry: string;
  readonly type: string;
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  readonly content: ContentFiles;
}

function Files({ content: { files, bytes, digest }, ...path }: FilesProps): JSX.Element {
  const { registry, type, namespace, name, version } = path;
  const zip = [registry, 'x/content', type, namespace, name, `${version}.zip`]
    .map((part) => (part.includes('/') ? part : encodeURIComponent(part)))
    .join('/');
  const download = useAction(() =>
    save(`${API_BASE}/registry/${zip}`, `${namespace}-${name}-${version}.zip`),
  );
  return (
    <section>
      <div class="section-head">
        <h2>
          Files <span class="muted">{files.length}</span>
        </h2>
        <button type="button" class="small" onClick={download.run} disabled={download.isPending}>
          Download ({formatBytes(bytes)})
        </button>
      </div>
      {download.failure && <Refusal failure={download.failure} />}
      <CollapsedList items={files} count={FILES_SHOWN}>
        {(shown) => (
          <ul class="files">
            {shown.map((file) => (
              <li key={file.path}>
                <UntrustedText text={file.path} class="mono break" />{' '}
                <span class="muted">
                  {formatBytes(file.bytes)}
                  {file.executable && ' · executable'}
                </span>
              </li>
            ))}
          </ul>
        )}
      </CollapsedList>
      <p class="muted small-text">
        SHA-256 <code class="break">{escapeInvisible(digest)}</code>
      </p>
    </section>
  );
}

/** Saves a file that needs the session's token. */
async function save(url: string, fileName: string): Promise<void> {
  const response = await send(new Request(url));
  if (!response.ok) throw failureOf(response.status, await response.json().catch(() => undefined));
  const object = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = object;
  link.download = fileName;
  link.click();
  setTimeout(() => URL.revokeObjectURL(object), 60_000);
}
