import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { api, unwrap } from '../api/client.js';
import { isEntryType } from '../api/entry-types.js';
import type { EntryType, PluginDocument, ServerDocument, ServerSetup, SkillDocument } from '../api/types.js';
import { Stars, Tier, titleOf } from '../catalogue/entry-card.js';
import { EntryIcon } from '../catalogue/entry-icon.js';
import { publisherOf } from '../catalogue/publisher.js';
import { useContent } from '../content/read-content.js';
import { hashOf, lastResults, type Route } from '../navigation/route.js';
import { isOffered, useSession } from '../session/session.js';
import { Badge } from '../ui/badge.js';
import { Ago } from '../ui/format.js';
import { EmptyState, HiddenTitle, Loading, type Query, QueryResult, useQuery } from '../ui/query.js';
import { CollapsedList, Detail, DetailList } from '../ui/table.js';
import { Code, ExternalLink, UntrustedText } from '../ui/untrusted-text.js';
import { clientNames } from './clients.js';
import { InstallFiles } from './install-files.js';
import { InstallServer, useSetup } from './install-server.js';
import { type Fact, publishedFacts, type PublishedFacts } from './published-facts.js';
import { useKnownDates } from './known-dates.js';
import { readVersions, type Version } from './read-versions.js';
import { Packages, Remotes } from './remotes-and-packages.js';
import { UsedBy } from './used-by.js';
import { Versions } from './versions.js';

const TOOLS_SHOWN = 15;

/** `#/catalogue/{registry}/{type}/{name}[/{version}]` */
export function EntryPage({ route }: { route: Route }): JSX.Element {
  const [, registry = '', type = '', name = '', requested] = route.path;
  const isKnown = isEntryType(type);
  const query = useQuery(isKnown ? JSON.stringify([registry, type, name]) : null, (signal) =>
    readVersions(registry, type as EntryType, name, signal),
  );
  const results = lastResults();
  if (!isKnown) return <EmptyState title="Page not found" isPage />;
  return (
    <article class="entry">
      <p class="trail">
        <a href={hashOf(['catalogue', registry])}>
          ← <UntrustedText text={registry} />
        </a>
        {results !== null && <a href={results}>← Search results</a>}
      </p>
      {!query.value && <HiddenTitle text={name} />}
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
            <EmptyState title="Version not found" isPage>
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
  const facts = publishedFacts(content);
  const { tools, overview } = facts;
  const dates = useKnownDates(registry, type, name, versions);
  const date = dates?.of(shown);
  const server = type === 'server' ? (content as ServerDocument) : undefined;
  const isInstallable = server !== undefined && shown.status !== 'deleted';
  const setup = useSetup(registry, name, isInstallable ? shown.version : null);
  const managed = useManaged(type, name);
  const stored = useContent(registry, type, name, shown.version);
  const readme = useQuery(overview === undefined ? null : 'readme', () => import('../content/readme.js'));
  const parts = [setup, managed, stored, readme];
  // Rendered immediately: if these parts arrived later, they would move the others.
  const isComplete = useRef(false);
  isComplete.current ||= parts.every(({ isLoading }) => !isLoading);
  if (!isComplete.current)
    return (
      <>
        <HiddenTitle text={name} />
        <Loading />
      </>
    );
  const clients = setup.value ? clientsOf(setup.value) : [];
  return (
    <>
      <header class="entry-head">
        <EntryIcon registry={registry} type={type} name={name} size={56} />
        <div>
          <h1>
            <UntrustedText text={titleOf(content.title, name)} class="break" />
            {[...(type === 'server' ? [] : [type]), ...(shown.status === 'active' ? [] : [shown.status])].map(
              (state) => (
                <span key={state}>
                  {' '}
                  <Badge state={state} />
                </span>
              ),
            )}
          </h1>
          <p class="entry-facts">
            <UntrustedText text={publisherOf(name)} class="break" />
            {facts.tier !== undefined && <Tier tier={facts.tier} />}
            {facts.stars !== undefined && <Stars count={facts.stars} />}
            <span>
              Version <UntrustedText text={shown.version} class="break" />
            </span>
            {date && (
              <span>
                {date.event} <Ago at={date.at} />
              </span>
            )}
            <LatestLink
              href={hashOf(['catalogue', registry, type, name])}
              shown={shown}
              versions={versions}
            />
          </p>
        </div>
        <EntryActions registry={registry} type={type} name={name} isManaged={managed.value === true} />
      </header>
      {shown.statusMessage !== undefined && (
        <p class="notice">
          <UntrustedText text={shown.statusMessage} class="break" />
        </p>
      )}
      <p class="entry-description">
        <UntrustedText text={content.description} class="break" />
      </p>
      {clients.length > 0 && <p class="muted">Works with {clientNames(clients)}</p>}
      {facts.tags.length > 0 && (
        <ul class="chips tags" aria-label="Tags">
          {facts.tags.map((tag) => (
            <li key={tag}>
              <a class="chip" href={hashOf(['catalogue', registry], { tag })}>
                <UntrustedText text={tag} />
              </a>
            </li>
          ))}
        </ul>
      )}
      <div class="columns">
        <div>
          {server && setup.value && (
            <InstallServer
              key={shown.version}
              registry={registry}
              name={name}
              setup={setup.value}
              document={server}
            />
          )}
          {type !== 'server' && (
            <InstallFiles
              registry={registry}
              type={type}
              name={name}
              document={content as SkillDocument | PluginDocument}
              marketplace={stored.value?.marketplace}
            />
          )}
          {readme.value && overview !== undefined && <readme.value.Readme title="Overview" text={overview} />}
          {stored.value && type !== 'server' && (
            <stored.value.Section
              registry={registry}
              type={type}
              name={name}
              version={shown.version}
              files={stored.value.files}
              members={stored.value.members}
            />
          )}
          {tools.length > 0 && (
            <section>
              <h2>
                Tools <span class="muted">{tools.length}</span>
              </h2>
              <CollapsedList items={tools} count={TOOLS_SHOWN}>
                {(some) => (
                  <ul class="tools">
                    {some.map((tool) => (
                      <li key={tool.name}>
                        <code>
                          <UntrustedText text={tool.name} class="break" />
                        </code>{' '}
                        {tool.description !== '' && (
                          <UntrustedText text={tool.description} class="break muted" />
                        )}
                      </li>
                    ))}
                  </ul>
                )}
              </CollapsedList>
            </section>
          )}
          {server && <Remotes remotes={server.remotes ?? []} />}
          <Packages packages={content.packages ?? []} />
          {/** Last, because it loads later than the rest. */}
          {server && <UsedBy registry={registry} document={server} />}
        </div>
        <div>
          <About name={name} content={content} facts={facts} />
          <Versions
            registry={registry}
            type={type}
            name={name}
            versions={versions}
            shown={shown}
            dates={dates}
          />
          <details class="document">
            <summary>Published document</summary>
            <Code text={JSON.stringify(content, null, 2)} label="Document" />
          </details>
        </div>
      </div>
    </>
  );
}

/** What can run a server through one of its remotes or packages. */
function clientsOf({ options, runsInToolHive }: ServerSetup): readonly string[] {
  const able = options.flatMap(({ clients }) =>
    clients.flatMap(({ client, configuration }) => (configuration ? [client as string] : [])),
  );
  return runsInToolHive ? [...able, 'toolhive'] : able;
}

interface LatestLinkProps {
  readonly href: string;
  readonly shown: Version;
  /** Newest first. */
  readonly versions: readonly Version[];
}

/** The latest version may be older than the one shown: deleted versions are never the latest. */
function LatestLink({ href, shown, versions }: LatestLinkProps): JSX.Element {
  const latest = versions.find(({ isLatest }) => isLatest);
  if (!latest || latest === shown) return <></>;
  const isNewer = versions.indexOf(latest) < versions.indexOf(shown);
  return (
    <a href={href}>
      {isNewer ? (
        'Newer version available'
      ) : (
        <>
          Latest version: <UntrustedText text={latest.version} />
        </>
      )}
    </a>
  );
}

/** Asks whether the caller manages a published entry of this name, which is not an error if they do not. */
function useManaged(type: EntryType, name: string): Query<boolean> {
  const isOfferedHere = isOffered(useSession(), 'manageEntries');
  return useQuery(isOfferedHere ? `${type} ${name}` : null, async (signal) => {
    const params = { query: { type, name } };
    return (await unwrap(api.GET('/v1/entries', { params, signal }))).entries.length > 0;
  });
}

interface EntryActionsProps extends Pick<EntryDetailsProps, 'registry' | 'type' | 'name'> {
  /** Whether the entry is published here and managed by the caller. */
  readonly isManaged: boolean;
}

/** Links to publish and manage the entry, if the caller may, and prefilled questions about access. */
function EntryActions({ registry, type, name, isManaged }: EntryActionsProps): JSX.Element {
  const session = useSession();
  const mayAskWho = isOffered(session, 'manageEntries') || isOffered(session, 'manageRegistries');
  const mayAskForOthers = isOffered(session, 'manageRegistries') || isManaged;
  const asked = { registry, type: type === 'server' ? '' : type, entry: name };
  // Asks about a caller with no claims: the claims missing for them are exactly those the entry requires.
  const question = mayAskForOthers ? { ...asked, as: '{}' } : asked;
  return (
    <p class="buttons entry-actions">
      {isManaged && (
        <>
          <a class="button small primary" href={hashOf(['publish'], { type, name })}>
            New version
          </a>
          <a class="button small" href={hashOf(['publish', type, name])}>
            Manage
          </a>
        </>
      )}
      {mayAskWho && (
        <a class="button small" href={hashOf(['access', 'who', type, name], { registry })}>
          Who sees this
        </a>
      )}
      {(session.me || session.settings.mode === 'anonymous') && (
        <a class="button small" href={hashOf(['access'], question)}>
          {mayAskForOthers ? "Why can't someone see this?" : 'Why do I see this?'}
        </a>
      )}
    </p>
  );
}

/** The name, links, license, permissions and provenance. */
function About({
  name: entryName,
  content,
  facts: { permissions, provenance },
}: {
  name: string;
  content: Version['document'];
  facts: PublishedFacts;
}): JSX.Element {
  const { repository } = content;
  const { websiteUrl, license, compatibility } = content as Readonly<Record<string, unknown>>;
  const links = [
    ['Name', entryName],
    ['Website', websiteUrl],
    ['Repository', repository?.url],
    ['License', license],
    ['Compatibility', compatibility],
  ].flatMap(([name, value]) =>
    typeof name === 'string' && typeof value === 'string' ? [{ name, value }] : [],
  );
  return (
    <>
      <FactList title="About" facts={links} />
      <FactList title="Permissions" facts={permissions} />
      <FactList title="Provenance" facts={provenance} note="Stated by the publisher, not verified." />
    </>
  );
}

function FactList({
  title,
  facts,
  note,
}: {
  title: string;
  facts: readonly Fact[];
  note?: string;
}): JSX.Element {
  if (facts.length === 0) return <></>;
  return (
    <section>
      <h2>{title}</h2>
      {note !== undefined && <p class="muted small-text">{note}</p>}
      <DetailList>
        {facts.map(({ name, value }) => (
          <Detail key={name} name={name}>
            <ExternalLink to={value} />
          </Detail>
        ))}
      </DetailList>
    </section>
  );
}
