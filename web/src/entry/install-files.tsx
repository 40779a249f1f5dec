import type { JSX } from 'preact';
import { API_BASE } from '../api/client.js';
import type { PluginDocument, SkillDocument } from '../api/types.js';
import {
  GitLogin,
  type Marketplace,
  MARKETPLACE_CLIENTS,
  marketplaceCommands,
  pluginOf,
} from '../content/marketplace.js';
import { Choices } from '../ui/filter-controls.js';
import { Code } from '../ui/untrusted-text.js';
import { useClient } from './chosen-client.js';
import { CLIENT_TITLES } from './clients.js';
import { commandLine, shortName, skillCommands, toolhiveRegistry } from './install-commands.js';

/** The folder in which each client looks for skills, in the home folder. */
const SKILL_FOLDERS: Readonly<Record<string, string>> = {
  'claude-code': '~/.claude/skills',
  copilot: '~/.copilot/skills',
  codex: '~/.agents/skills',
  cursor: '~/.cursor/skills',
};
/** ToolHive's commands: https://docs.stacklok.com/toolhive/reference/cli/thv */
const TOOLHIVE_NOUNS = { skill: 'skill', plugin: 'ai-plugin' } as const;

interface Props {
  readonly registry: string;
  readonly type: 'skill' | 'plugin';
  readonly name: string;
  readonly document: SkillDocument | PluginDocument;
  readonly marketplace: Marketplace | undefined;
}

/** How to install a skill or plugin: from the registry's marketplace, from its repository, or with ToolHive. */
export function InstallFiles({ registry, type, name, document, marketplace }: Props): JSX.Element {
  const packages = document.packages ?? [];
  const repository = packages.find(({ url }) => url !== undefined);
  const plugin = marketplace && pluginOf(marketplace, name);
  const canCopy = type === 'skill' && repository && skillCommands(repository, '~') !== undefined;
  const toolhive = packages.some(({ url, registryType }) => url !== undefined || registryType === 'oci')
    ? toolhiveCommands(registry, type, name)
    : undefined;
  const clients = [...MARKETPLACE_CLIENTS, 'cursor', 'toolhive'].filter(
    (each) =>
      (plugin !== undefined && MARKETPLACE_CLIENTS.includes(each)) ||
      (canCopy && Object.hasOwn(SKILL_FOLDERS, each)) ||
      (toolhive !== undefined && each === 'toolhive'),
  );
  const [client, choose] = useClient(clients);
  const title = CLIENT_TITLES[client] ?? client;
  const folder = SKILL_FOLDERS[client];
  const copy =
    canCopy && folder !== undefined ? skillCommands(repository, `${folder}/${shortName(name)}`) : undefined;
  const isInMarketplace = plugin !== undefined && MARKETPLACE_CLIENTS.includes(client);
  if (clients.length === 0)
    return (
      <section class="install">
        <h2>Install</h2>
        <p class="notice">
          <b>Not installable from here.</b> The document has no package.
        </p>
      </section>
    );
  return (
    <section class="install">
      <h2>Install</h2>
      <Choices
        label="Client"
        name="client"
        value={client}
        options={clients.map((each) => [each, CLIENT_TITLES[each] ?? each] as const)}
        change={choose}
      />
      {isInMarketplace && (
        <>
          <h3>Install it from this registry</h3>
          <Code
            text={marketplaceCommands(client, registry, marketplace?.name ?? '', plugin)}
            label={`Commands for ${title}`}
            isWhole
          />
          <GitLogin />
        </>
      )}
      {copy !== undefined && !isInMarketplace && (
        <>
          <h3>
            Copy the skill to <code>{folder}</code>
          </h3>
          <Code text={copy} label="Commands" isWhole />
        </>
      )}
      {copy !== undefined && isInMarketplace && (
        <details class="below">
          <summary>
            Or copy the skill to <code>{folder}</code>
          </summary>
          <Code text={copy} label="Commands" isWhole />
        </details>
      )}
      {client === 'toolhive' && toolhive !== undefined && (
        <>
          <h3>Run these commands</h3>
          <Code text={toolhive} label="Commands for ToolHive" isWhole />
        </>
      )}
    </section>
  );
}

function toolhiveCommands(registry: string, type: Props['type'], name: string): string | undefined {
  const url = `${API_BASE}/registry/${encodeURIComponent(registry)}`;
  const lines = [toolhiveRegistry(url), commandLine(['thv', TOOLHIVE_NOUNS[type], 'install', name])];
  return lines.every((line) => line !== undefined) ? lines.join('\n') : undefined;
}
