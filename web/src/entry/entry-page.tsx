import type { JSX } from 'preact';
import { isEntryType } from '../api/entry-types.js';
import type { EntryType, ServerDocument } from '../api/types.js';
import { EntryIcon } from '../catalogue/entry-card.js';
import { hashOf, type Route } from '../navigation/route.js';
import { Badge } from '../ui/badge.js';
import { EmptyState, QueryResult, useQuery } from '../ui/query.js';
import { Detail, DetailList } from '../ui/table.js';
import { Code, ExternalLink, UntrustedText } from '../ui/untrusted-text.js';
import { Connect } from './connect.js';
import { Packages, Remotes } from './installation.js';
import { readVersions, type Version, Versions } from './versions.js';

/** `#/catalogue/{registry}/{type}/{name}[/{version}]` */
export function EntryPage({ route }: { route: Route }): JSX.Element {
  const [, registry = '', type = '', name = '', requested] = route.path;
  const isKnown = isEntryType(type);
  const query = useQuery(isKnown ? JSON.stringify([registry, type, name]) : null, (signal) =>
    readVersions(registry, type as EntryType, name, signal),
  );
  if (!isKnown) return <EmptyState title="Page not found" />;
  return (
    <article class="entry">
      <p class="trail">
        <a href={hashOf(['catalogue', registry], { type: type === 'server' ? '' : type })}>
          ← <UntrustedText text={registry} />
        </a>
      </p>
      <QueryResult query={query}>
        {(versions) => {
          const shown =
            requested === undefined
              ? (versions.find(({ isLatest }) => isLatest) ?? versions[0])
              : versions.find(({ version }) => version === requested);
          return shown ? (
            <EntryDetails
              registry={registry}
              type={type as EntryType}
              name={name}
              shown={shown}
              versions={versions}
            />
          ) : (
            <EmptyState title="Version not found">
              <a href={hashOf(['catalogue', registry, type, name])}>Go to the latest version</a>
            </EmptyState>
          );
        }}
      </QueryResult>
    </article>
  );
}

interface EntryDetailsProps {
  readonly registry: string;
  readonly type: EntryType;
  readonly name: string;
  readonly shown: Version;
  readonly versions: readonly Version[];
}

function EntryDetails({ registry, type, name, shown, versions }: EntryDetailsProps): JSX.Element {
  const { document: content } = shown;
  const tools = publishedTools(content);
  const server = type === 'server' ? (content as ServerDocument) : undefined;
  return (
    <>
      <header class="entry-head">
        <EntryIcon name={name} icons={content.icons ?? []} size={56} />
        <div>
          <h1>
            <UntrustedText
              text={(content.title?.trim() && content.title) || (name.split('/').at(-1) ?? name)}
              class="break"
            />
          </h1>
          <p class="entry-name">
            <UntrustedText text={name} class="break" />
          </p>
          <p class="entry-facts">
            <UntrustedText text={shown.version} class="break version" />
            <Badge state={shown.status} />
            {!shown.isLatest && (
              <a href={hashOf(['catalogue', registry, type, name])}>Newer version available</a>
            )}
          </p>
        </div>
      </header>
      {shown.statusMessage !== undefined && (
        <p class="notice">
          <UntrustedText text={shown.statusMessage} class="break" />
        </p>
      )}
      <p class="entry-description">
        <UntrustedText text={content.description} class="break" />
      </p>
      <Links content={content} />
      <div class="columns">
        <div>
          {server && <Connect registry={registry} name={name} version={shown.version} />}
          {server && <Remotes remotes={server.remotes ?? []} />}
          {server && <Packages packages={server.packages ?? []} />}
          {!server && <Packages packages={content.packages ?? []} />}
          {tools.length > 0 && (
            <section>
              <h2>
                Tools <span class="muted">{tools.length}</span>
              </h2>
              <ul class="tools">
                {tools.map((tool) => (
                  <li key={tool.name}>
                    <code>
                      <UntrustedText text={tool.name} class="break" />
                    </code>{' '}
                    {tool.description !== '' && <UntrustedText text={tool.description} class="break muted" />}
                  </li>
                ))}
              </ul>
            </section>
          )}
        </div>
        <div>
          <Versions registry={registry} type={type} name={name} versions={versions} shown={shown} />
          <details class="document">
            <summary>Published document</summary>
            <Code text={JSON.stringify(content, null, 2)} label="Document" />
          </details>
        </div>
      </div>
    </>
  );
}

function Links({ content }: { content: Version['document'] }): JSX.Element {
  const { repository } = content;
  const { websiteUrl, license } = content as { websiteUrl?: string; license?: string };
  if (websiteUrl === undefined && repository?.url === undefined && license === undefined) return <></>;
  return (
    <DetailList>
      <Detail name="Website">{websiteUrl !== undefined && <ExternalLink to={websiteUrl} />}</Detail>
      <Detail name="Repository">
        {repository?.url !== undefined && <ExternalLink to={repository.url} />}
      </Detail>
      <Detail name="Licence">{license !== undefined && <UntrustedText text={license} />}</Detail>
    </DetailList>
  );
}

interface Tool {
  readonly name: string;
  readonly description: string;
}

/**
 * Tools from the publisher-provided extension, as names or definitions with a description. Publishers can put anything
 * there, so nothing about its shape is assumed.
 */
function publishedTools(document: object): readonly Tool[] {
  const extension = member(member(document, '_meta'), 'io.modelcontextprotocol.registry/publisher-provided');
  const tools = new Map<string, Tool>();
  for (const publisher of values(extension))
    for (const block of values(publisher)) {
      for (const definition of list(member(block, 'tool_definitions'))) {
        const name = member(definition, 'name');
        const description = member(definition, 'description');
        if (typeof name === 'string')
          tools.set(name, { name, description: typeof description === 'string' ? description : '' });
      }
      for (const name of list(member(block, 'tools')))
        if (typeof name === 'string' && !tools.has(name)) tools.set(name, { name, description: '' });
    }
  const { allowedTools } = document as { allowedTools?: unknown };
  for (const name of list(allowedTools))
    if (typeof name === 'string') tools.set(name, { name, description: '' });
  return [...tools.values()];
}

function member(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

function values(value: unknown): unknown[] {
  return typeof value === 'object' && value !== null ? Object.values(value) : [];
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
