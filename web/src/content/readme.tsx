import type { JSX } from 'preact';
import { Code, escapeInvisible, ExternalLink, isWebUrl, UntrustedText } from '../ui/untrusted-text.js';
import { type MarkdownElement, type MarkdownNode, parseMarkdown } from './markdown.js';

interface Props {
  readonly title: string;
  readonly text: string;
}

/** A publisher's Markdown text. */
export function Readme({ title, text }: Props): JSX.Element {
  const { nodes, isCut } = parseMarkdown(text);
  return (
    <section class="readme">
      <h2>
        <UntrustedText text={title} />
      </h2>
      <Nodes nodes={nodes} />
      {isCut && <p class="muted">The text is longer, but this page shows only its beginning.</p>}
    </section>
  );
}

function Nodes({ nodes }: { nodes: readonly MarkdownNode[] }): JSX.Element {
  return (
    <>
      {nodes.map((node, index) =>
        typeof node === 'string' ? escapeInvisible(node) : <Element key={index} element={node} />,
      )}
    </>
  );
}

function Element({ element }: { element: MarkdownElement }): JSX.Element {
  const { tag, children } = element;
  const content = <Nodes nodes={children} />;
  switch (tag) {
    case 'pre':
      return <Code text={children.join('')} label="Code" />;
    case 'h1':
    case 'h2':
    case 'h3':
    case 'h4':
    case 'h5':
    case 'h6': {
      const level = Number(tag.slice(1));
      return (
        <p
          class={`readme-heading level-${Math.min(level, 3)}`}
          role="heading"
          aria-level={Math.min(level + 2, 6)}
          dir="auto"
        >
          {content}
        </p>
      );
    }
    case 'a':
      return <Link element={element} />;
    case 'ul':
      return <ul class="bullets">{content}</ul>;
    case 'ol':
      return (
        <ol class="bullets" start={element.start}>
          {content}
        </ol>
      );
    case 'table':
      return (
        <div class="table-frame" role="group" aria-label="Table" tabIndex={0}>
          <table>{content}</table>
        </div>
      );
    default: {
      const Tag = tag;
      return <Tag dir="auto">{content}</Tag>;
    }
  }
}

/** A link with its address, because its text could imitate another. */
function Link({ element: { url = '', children } }: { element: MarkdownElement }): JSX.Element {
  if (!isWebUrl(url)) return <Nodes nodes={children} />;
  if (children.length === 1 && children[0] === url) return <ExternalLink to={url} />;
  return (
    <>
      <Nodes nodes={children} /> (<ExternalLink to={url} />)
    </>
  );
}
