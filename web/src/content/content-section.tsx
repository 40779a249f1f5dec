import type { JSX } from 'preact';
import { API_BASE, api, failureOf, send, unwrap } from '../api/client.js';
import type { ContentFiles } from '../api/types.js';
import { useAction } from '../ui/action.js';
import { formatBytes } from '../ui/format.js';
import { useQuery } from '../ui/query.js';
import { Refusal } from '../ui/refusal.js';
import { CollapsedList } from '../ui/table.js';
import { Code, escapeInvisible, ExternalLink, isWebUrl, UntrustedText } from '../ui/untrusted-text.js';
import { MarketplaceSteps } from './marketplace.js';
import { type Block, blocksOf, type Inline, inlinesOf } from './markdown.js';

const FILES_SHOWN = 20;

interface Props {
  readonly registry: string;
  readonly type: 'skill' | 'plugin';
  readonly name: string;
  readonly version: string;
}

/** The files of a version, if it has any here. */
export function ContentSection({ registry, type, name, version }: Props): JSX.Element {
  const [namespace = '', own = ''] = name.split('/');
  const path = { registry, type, namespace, name: own, version };
  const query = useQuery(JSON.stringify(path), (signal) =>
    unwrap(
      api.GET('/registry/{registry}/x/content/{type}/{namespace}/{name}/{version}/files', {
        params: { path },
        signal,
      }),
    ),
  );
  // Most versions have no content here, which is a 404.
  if (!query.value) return <></>;
  return (
    <>
      <MarketplaceSteps registry={registry} entry={{ namespace, name: own }} />
      {query.value.texts.map(({ path: file, text }) => (
        <section key={file} class="readme">
          <h2>
            <UntrustedText text={file} />
          </h2>
          {blocksOf(text).map((block, index) => (
            <MarkdownBlock key={index} block={block} />
          ))}
        </section>
      ))}
      <Files {...path} content={query.value} />
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

function MarkdownBlock({ block }: { block: Block }): JSX.Element {
  switch (block.kind) {
    case 'code':
      return <Code text={block.text} label="Code" />;
    case 'heading':
      return (
        <p
          class={`readme-heading level-${Math.min(block.level, 3)}`}
          role="heading"
          aria-level={Math.min(block.level + 2, 6)}
        >
          <Inlines line={block.line} />
        </p>
      );
    case 'list': {
      const items = block.items.map((item, index) => (
        <li key={index}>
          <Inlines line={item} />
        </li>
      ));
      return block.isOrdered ? <ol class="bullets">{items}</ol> : <ul class="bullets">{items}</ul>;
    }
    case 'quote':
      return (
        <blockquote>
          <Inlines line={block.line} />
        </blockquote>
      );
    case 'paragraph':
      return (
        <p>
          <Inlines line={block.line} />
        </p>
      );
  }
}

function Inlines({ line }: { line: string }): JSX.Element {
  return (
    <bdi dir="auto" class="break">
      {inlinesOf(line).map((part, index) => (
        <InlinePart key={index} part={part} />
      ))}
    </bdi>
  );
}

function InlinePart({ part }: { part: Inline }): JSX.Element {
  const text = escapeInvisible(part.text);
  switch (part.kind) {
    case 'text':
      return <>{text}</>;
    case 'code':
      return <code>{text}</code>;
    case 'strong':
      return <b>{text}</b>;
    case 'emphasis':
      return <i>{text}</i>;
    case 'link':
      // The address is visible: the text could imitate another.
      return isWebUrl(part.url) ? (
        <>
          {text} (<ExternalLink to={part.url} />)
        </>
      ) : (
        <>{text}</>
      );
  }
}
