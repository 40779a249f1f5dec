import type { JSX } from 'preact';
import type { EntryType, ServerDocument } from '../api/types.js';
import { useAnswer } from '../api/use-answer.js';
import { EntryIcon } from '../catalogue/entry-icon.js';
import { hashOf, type Route } from '../navigation/route.js';
import { Answered } from '../ui/answered.js';
import { Badge } from '../ui/badge.js';
import { Code } from '../ui/code.js';
import { Empty } from '../ui/empty.js';
import { ExternalLink } from '../ui/external-link.js';
import { Fact, Facts } from '../ui/facts.js';
import { Plain } from '../ui/plain.js';
import { Connect } from './connect.js';
import { readVersions, toolsOf, type Version } from './documents.js';
import { Packages, Remotes } from './installation.js';
import { Versions } from './versions.js';

const TYPES: readonly string[] = ['server', 'skill', 'plugin'] satisfies EntryType[];

/** `#/catalogue/{registry}/{type}/{name}[/{version}]` */
export function EntryPage({ route }: { route: Route }): JSX.Element {
  const [, registry = '', type = '', name = '', wanted] = route.path;
  const isKnown = TYPES.includes(type);
  const asked = useAnswer(isKnown ? JSON.stringify([registry, type, name]) : null, (signal) =>
    readVersions(registry, type as EntryType, name, signal),
  );
  if (!isKnown) return <Empty title="There is no such page" />;
  return (
    <article class="entry">
      <p class="trail">
        <a href={hashOf(['catalogue', registry], { type: type === 'server' ? '' : type })}>
          ← <Plain text={registry} />
        </a>
      </p>
      <Answered asked={asked}>
        {(versions) => {
          const shown =
            wanted === undefined
              ? (versions.find(({ isLatest }) => isLatest) ?? versions[0])
              : versionOf(versions, wanted);
          return shown ? (
            <Shown
              registry={registry}
              type={type as EntryType}
              name={name}
              shown={shown}
              versions={versions}
            />
          ) : (
            <Empty title="This entry has no such version">
              <a href={hashOf(['catalogue', registry, type, name])}>To its latest one</a>
            </Empty>
          );
        }}
      </Answered>
    </article>
  );
}

function versionOf(versions: readonly Version[], wanted: string): Version | undefined {
  return versions.find(({ version }) => version === wanted);
}

interface ShownProps {
  readonly registry: string;
  readonly type: EntryType;
  readonly name: string;
  readonly shown: Version;
  readonly versions: readonly Version[];
}

function Shown({ registry, type, name, shown, versions }: ShownProps): JSX.Element {
  const { document: held } = shown;
  const tools = toolsOf(held);
  const server = type === 'server' ? (held as ServerDocument) : undefined;
  return (
    <>
      <header class="entry-head">
        <EntryIcon name={name} icons={held.icons ?? []} size={56} />
        <div>
          <h1>
            <Plain
              text={(held.title?.trim() && held.title) || (name.split('/').at(-1) ?? name)}
              class="break"
            />
          </h1>
          <p class="entry-name">
            <Plain text={name} class="break" />
          </p>
          <p class="entry-facts">
            <Plain text={shown.version} class="break version" />
            <Badge state={shown.status} />
            {!shown.isLatest && (
              <a href={hashOf(['catalogue', registry, type, name])}>There is a newer version</a>
            )}
          </p>
        </div>
      </header>
      {shown.statusMessage !== undefined && (
        <p class="notice">
          <Plain text={shown.statusMessage} class="break" />
        </p>
      )}
      <p class="entry-description">
        <Plain text={held.description} class="break" />
      </p>
      <Links held={held} />
      <div class="columns">
        <div>
          {server && <Connect registry={registry} name={name} version={shown.version} />}
          {server && <Remotes remotes={server.remotes ?? []} />}
          {server && <Packages packages={server.packages ?? []} />}
          {!server && <Packages packages={held.packages ?? []} />}
          {tools.length > 0 && (
            <section>
              <h2>
                Tools <span class="muted">{tools.length}</span>
              </h2>
              <ul class="tools">
                {tools.map((tool) => (
                  <li key={tool.name}>
                    <code>
                      <Plain text={tool.name} class="break" />
                    </code>{' '}
                    {tool.description !== '' && <Plain text={tool.description} class="break muted" />}
                  </li>
                ))}
              </ul>
            </section>
          )}
        </div>
        <div>
          <Versions registry={registry} type={type} name={name} versions={versions} shown={shown} />
          <details class="document">
            <summary>The document as it was published</summary>
            <Code text={JSON.stringify(held, null, 2)} label="Document" />
          </details>
        </div>
      </div>
    </>
  );
}

function Links({ held }: { held: Version['document'] }): JSX.Element {
  const { repository } = held;
  const { websiteUrl, license } = held as { websiteUrl?: string; license?: string };
  if (websiteUrl === undefined && repository?.url === undefined && license === undefined) return <></>;
  return (
    <Facts>
      <Fact name="Website">{websiteUrl !== undefined && <ExternalLink to={websiteUrl} />}</Fact>
      <Fact name="Repository">{repository?.url !== undefined && <ExternalLink to={repository.url} />}</Fact>
      <Fact name="Licence">{license !== undefined && <Plain text={license} />}</Fact>
    </Facts>
  );
}
