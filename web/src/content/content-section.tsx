import type { JSX } from 'preact';
import { API_BASE, failureOf, send } from '../api/client.js';
import type { ContentFiles, Members } from '../api/types.js';
import { useAction } from '../ui/action.js';
import { formatBytes } from '../ui/format.js';
import { Refusal } from '../ui/refusal.js';
import { CollapsedList } from '../ui/table.js';
import { escapeInvisible, UntrustedText } from '../ui/untrusted-text.js';
import { MembersSection } from './members.js';
import { Readme } from './readme.js';

const FILES_SHOWN = 20;

interface Props {
  readonly registry: string;
  readonly type: 'skill' | 'plugin';
  readonly name: string;
  readonly version: string;
  readonly files: ContentFiles;
  readonly members: Members;
}

/** The content of a version: its members, its README and its files. */
export function ContentSection(props: Props): JSX.Element {
  return (
    <>
      <MembersSection registry={props.registry} members={props.members} />
      {props.files.texts.map((text) => (
        <Readme key={text.path} title={text.path} text={text.text} />
      ))}
      <Files {...props} />
    </>
  );
}

function Files({ registry, type, name, version, files: { files, bytes, digest } }: Props): JSX.Element {
  const [namespace = '', own = ''] = name.split('/');
  const path = [registry, 'x', 'content', type, namespace, own, `${version}.zip`];
  const download = useAction(() =>
    save(
      `${API_BASE}/registry/${path.map(encodeURIComponent).join('/')}`,
      `${namespace}-${own}-${version}.zip`,
    ),
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
