import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { API_BASE } from '../api/client.js';
import type { PluginDocument, SkillDocument } from '../api/types.js';
import { Choices } from '../ui/filter-controls.js';
import { Code } from '../ui/untrusted-text.js';
import { commandLine, shortName, skillCommands } from './install-commands.js';

/** Where each client looks for skills: in the home folder. */
const SKILL_FOLDERS: Readonly<Record<string, { readonly title: string; readonly folder: string }>> = {
  'claude-code': { title: 'Claude Code', folder: '~/.claude/skills' },
  copilot: { title: 'Copilot', folder: '~/.copilot/skills' },
  cursor: { title: 'Cursor', folder: '~/.cursor/skills' },
  codex: { title: 'Codex', folder: '~/.agents/skills' },
};

interface Props {
  readonly registry: string;
  readonly type: 'skill' | 'plugin';
  readonly name: string;
  readonly document: SkillDocument | PluginDocument;
}

/** How to install a skill or plugin: with ToolHive, or from its repository. */
export function InstallFiles({ registry, type, name, document }: Props): JSX.Element {
  const [client, setClient] = useState('claude-code');
  const repository = (document.packages ?? []).find(({ url }) => url !== undefined);
  const image = (document.packages ?? []).find(({ registryType }) => registryType === 'oci');
  const folder = SKILL_FOLDERS[client]?.folder ?? '';
  const copy =
    repository && type === 'skill' ? skillCommands(repository, `${folder}/${shortName(name)}`) : undefined;
  const toolhive = [
    commandLine(['thv', 'config', 'set-registry', `${API_BASE}/registry/${encodeURIComponent(registry)}`]),
    commandLine(['thv', type, 'install', name]),
  ];
  return (
    <section class="install">
      <h2>Install</h2>
      {copy !== undefined && (
        <>
          <Choices
            label="Client"
            name="client"
            value={client}
            options={Object.entries(SKILL_FOLDERS).map(([key, { title }]) => [key, title] as const)}
            change={setClient}
          />
          <h3>
            Copy the skill to <code>{folder}</code>
          </h3>
          <Code text={copy} label="Commands" isWhole />
        </>
      )}
      {toolhive.every((line) => line !== undefined) && (
        <>
          <h3>{copy === undefined ? 'Install it with ToolHive' : 'Or install it with ToolHive'}</h3>
          <Code text={toolhive.join('\n')} label="Commands for ToolHive" isWhole />
        </>
      )}
      {!repository && !image && (
        <p class="notice">
          <b>Not installable here.</b> The document names no package.
        </p>
      )}
    </section>
  );
}
