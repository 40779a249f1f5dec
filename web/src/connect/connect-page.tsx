import type { ComponentChildren, JSX } from 'preact';
import { API_BASE, api, unwrap } from '../api/client.js';
import { NoRegistries } from '../catalogue/no-registries.js';
import { MarketplaceSteps, readMarketplace } from '../content/marketplace.js';
import { claudeCommand, commandLine, shortName, toolhiveRegistry } from '../entry/install-commands.js';
import { cursorLink, vscodeLink } from '../entry/install-links.js';
import { hashOf, navigate, type Route } from '../navigation/route.js';
import { useSession } from '../session/session.js';
import { HiddenTitle, QueryResult, useQuery } from '../ui/query.js';
import { Code, UntrustedText } from '../ui/untrusted-text.js';

/** `#/connect[/{registry}]` */
export function ConnectPage({ route }: { route: Route }): JSX.Element {
  const query = useQuery('registries', (signal) => unwrap(api.GET('/registry', { signal })));
  const [, asked] = route.path;
  return (
    <>
      {!query.value && <HiddenTitle text="Connect" />}
      <QueryResult query={query}>
        {({ registries }) => {
          const names = registries.map(({ name }) => name);
          const registry = asked ?? names[0];
          if (registry === undefined) return <NoRegistries isPage />;
          return (
            <>
              <div class="page-head">
                <h1>Connect</h1>
                <label class="choice">
                  <span>Registry</span>
                  <select
                    value={registry}
                    onChange={({ currentTarget: { value } }) => navigate(hashOf(['connect', value]))}
                  >
                    {[...new Set([...names, registry])].map((name) => (
                      <option key={name} value={name}>
                        {name}
                      </option>
                    ))}
                  </select>
                </label>
              </div>
              <ConnectRegistry key={registry} registry={registry} />
            </>
          );
        }}
      </QueryResult>
    </>
  );
}

/** The addresses of a registry, and the settings for its clients. */
export function ConnectRegistry({ registry }: { registry: string }): JSX.Element {
  const { settings } = useSession();
  const base = `${API_BASE}/registry/${encodeURIComponent(registry)}`;
  const mcp = `${base}/mcp`;
  const name = shortName(registry);
  const line = (...words: readonly string[]) => commandLine(words) ?? '';
  const vscode = vscodeLink(name, { type: 'http', url: mcp }, undefined);
  const cursor = cursorLink(name, { url: mcp });
  return (
    <div class="stack">
      <p class="muted">
        Add <UntrustedText text={registry} /> to your tools. Each person sees the entries available to them.
        {settings.mode === 'oauth' &&
          ' VS Code and Copilot cannot log in to a registry: they need one that is open without a token, or a URL with a key from an administrator.'}
      </p>
      <div class="connect-grid">
        <section>
          <h2>Base URL</h2>
          <p>For clients of the MCP Registry API.</p>
          <Code text={base} label="Base URL" isWhole />
        </section>
        <section>
          <h2>MCP URL</h2>
          <p>Lets an assistant search this registry through its tools.</p>
          <Code text={mcp} label="MCP URL" isWhole />
        </section>
        <Client title="VS Code">
          <p>
            Add to <code>settings.json</code>, then find servers with <code>@mcp</code> in the Extensions
            view:
          </p>
          <Code
            text={JSON.stringify({ 'chat.mcp.gallery.serviceUrl': base }, null, 2)}
            label="VS Code"
            isWhole
          />
          {vscode !== undefined && (
            <p>
              <a class="button" href={vscode}>
                Add the MCP URL to VS Code
              </a>
            </p>
          )}
        </Client>
        <Client title="GitHub Copilot">
          <p>
            In the Copilot policies of your organization or enterprise, set <b>MCP Registry URL</b> to:
          </p>
          <Code text={base} label="GitHub Copilot" isWhole />
        </Client>
        <Client title="Claude Code">
          <p>
            Adds the MCP URL. Log in with <code>/mcp</code> in a session if asked.
          </p>
          <Code
            text={claudeCommand(name, { type: 'http', url: mcp }, 'user') ?? ''}
            label="Claude Code"
            isWhole
          />
        </Client>
        <Client title="Cursor">
          <p>
            Add to <code>~/.cursor/mcp.json</code>:
          </p>
          <Code
            text={JSON.stringify({ mcpServers: { [name]: { url: mcp } } }, null, 2)}
            label="Cursor"
            isWhole
          />
          {cursor !== undefined && (
            <p>
              <a class="button" href={cursor}>
                Add to Cursor
              </a>
            </p>
          )}
        </Client>
        <Client title="Codex">
          <p>Adds the MCP URL.</p>
          <Code text={line('codex', 'mcp', 'add', name, '--url', mcp)} label="Codex" isWhole />
        </Client>
        <Client title="ToolHive">
          <p>
            Lets ToolHive run the servers of this registry by name, with <code>thv run NAME</code>.
          </p>
          <Code
            text={[
              toolhiveRegistry(base) ?? '',
              ...(settings.mode === 'oauth' ? [line('thv', 'registry', 'login')] : []),
            ].join('\n')}
            label="ToolHive"
            isWhole
          />
          {settings.mode === 'oauth' && (
            <p class="muted small-text">
              For the login, the first command also needs <code>--issuer</code> and <code>--client-id</code>.
            </p>
          )}
        </Client>
        <Marketplace registry={registry} />
        <Client title="mcp-publisher">
          <p>Publishes servers to this registry, if it accepts them.</p>
          <Code
            text={[
              line(
                'mcp-publisher',
                'login',
                settings.mode === 'anonymous' ? 'none' : 'github-oidc',
                '--registry',
                base,
              ),
              'mcp-publisher publish',
            ].join('\n')}
            label="mcp-publisher"
            isWhole
          />
        </Client>
      </div>
    </div>
  );
}

function Client({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function Marketplace({ registry }: { registry: string }): JSX.Element {
  const { value } = useQuery(registry, (signal) => readMarketplace(registry, signal));
  // Most registries are not marketplaces, which means a 404.
  return value ? <MarketplaceSteps registry={registry} marketplace={value} /> : <></>;
}
