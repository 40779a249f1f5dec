import type { JSX } from 'preact';
import { api, unwrap } from '../api/client.js';
import type { EntryType, PluginDocument, ServerDocument, SkillDocument, Status } from '../api/types.js';
import { entryHash } from '../navigation/route.js';
import { Badge } from '../ui/badge.js';
import { Day } from '../ui/format.js';
import { CollapsedList } from '../ui/table.js';
import { UntrustedText } from '../ui/untrusted-text.js';
import type { KnownDates } from './known-dates.js';

interface VersionTableProps {
  readonly registry: string;
  readonly type: EntryType;
  readonly name: string;
  readonly versions: readonly Version[];
  readonly shown: Version;
  /** Undefined until they are read. */
  readonly dates: KnownDates | undefined;
}

const VERSIONS_SHOWN = 12;

export function Versions({ registry, type, name, versions, shown, dates }: VersionTableProps): JSX.Element {
  return (
    <section>
      <h2>
        Versions <span class="muted">{versions.length}</span>
      </h2>
      <CollapsedList items={versions} count={VERSIONS_SHOWN}>
        {(some) => (
          <table class="plain">
            <thead class="hidden">
              <tr>
                <th scope="col">Version</th>
                <th scope="col">Status</th>
                <th scope="col">Published</th>
              </tr>
            </thead>
            <tbody>
              {some.map((each) => (
                <tr key={each.version} class={each === shown ? 'current' : undefined}>
                  <th scope="row">
                    <a
                      href={entryHash(registry, { type, name }, each.isLatest ? undefined : each.version)}
                      aria-current={each === shown ? 'true' : undefined}
                    >
                      <UntrustedText text={each.version} class="break" />
                    </a>
                  </th>
                  <td>
                    {each.isLatest && <span class="badge plain">latest</span>}{' '}
                    {each.status !== 'active' && <Badge state={each.status} />}
                  </td>
                  <td class="end muted">
                    <VersionDate version={each} dates={dates} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </CollapsedList>
    </section>
  );
}

function VersionDate({ version, dates }: { version: Version; dates: KnownDates | undefined }): JSX.Element {
  const date = dates?.of(version);
  if (date) return <Day at={date.at} />;
  if (!dates || version.publishedAt === undefined) return <></>;
  // The server's own time, when nobody stated another.
  return (
    <>
      added here <Day at={version.publishedAt} />
    </>
  );
}

const OFFICIAL = 'io.modelcontextprotocol.registry/official';

/** One version of an entry with its published document. */
export interface Version {
  readonly version: string;
  readonly status: Status;
  readonly statusMessage: string | undefined;
  readonly publishedAt: string | undefined;
  readonly updatedAt: string | undefined;
  readonly isLatest: boolean;
  readonly document: ServerDocument | SkillDocument | PluginDocument;
}

/** Reads all versions that the caller can see, newest first. */
export async function readVersions(
  registry: string,
  type: EntryType,
  name: string,
  signal: AbortSignal,
): Promise<readonly Version[]> {
  if (type === 'server') {
    const { servers } = await unwrap(
      api.GET('/registry/{registry}/v0.1/servers/{name}/versions', {
        // Includes deleted versions, so that links to them keep working.
        params: { path: { registry, name }, query: { include_deleted: true } },
        signal,
      }),
    );
    return servers.map(({ server, _meta }) => ({
      ...stateOf(_meta[OFFICIAL]),
      version: server.version,
      document: server,
    }));
  }
  const documents = await readBareVersions(registry, type, name, signal);
  return documents.map((document, index) => ({
    version: document.version,
    status: document.status ?? 'active',
    statusMessage: undefined,
    publishedAt: undefined,
    updatedAt: undefined,
    isLatest: index === 0,
    document,
  }));
}

async function readBareVersions(
  registry: string,
  type: Exclude<EntryType, 'server'>,
  name: string,
  signal: AbortSignal,
): Promise<readonly (SkillDocument | PluginDocument)[]> {
  const [namespace = '', own = ''] = name.split('/');
  const params = { path: { registry, namespace, name: own } };
  switch (type) {
    case 'skill': {
      const path = '/registry/{registry}/v0.1/x/dev.toolhive/skills/{namespace}/{name}/versions';
      return (await unwrap(api.GET(path, { params, signal }))).skills;
    }
    case 'plugin': {
      const path = '/registry/{registry}/v0.1/x/dev.toolhive/plugins/{namespace}/{name}/versions';
      return (await unwrap(api.GET(path, { params, signal }))).plugins;
    }
  }
}

function stateOf(official: {
  status: Status;
  statusMessage?: string;
  publishedAt: string;
  updatedAt: string;
  isLatest: boolean;
}): Omit<Version, 'version' | 'document'> {
  const { status, statusMessage, publishedAt, updatedAt, isLatest } = official;
  return { status, statusMessage, publishedAt, updatedAt, isLatest };
}
