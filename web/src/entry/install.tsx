import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api, unwrap } from '../api/client.js';
import type { ServerDocument, ServerSetup } from '../api/types.js';
import { type Query, useQuery } from '../ui/query.js';
import { Choices } from '../ui/filter-controls.js';
import { Code, escapeInvisible, UntrustedText } from '../ui/untrusted-text.js';
import { claudeCommand, codexCommand, cursorLink, PLACEHOLDER, vscodeLink } from './install-commands.js';
import { InputList } from './installation.js';

/** A variable that the user sets before the client starts, or in a table of its configuration. */
interface Variable {
  readonly variable: string;
  readonly table?: string;
  readonly name?: string;
  readonly description?: string;
  readonly isSecret?: boolean;
}

type Option = ServerSetup['options'][number];
type Setup = Option['clients'][number];
type Entry = Readonly<Record<string, unknown>>;

interface Client {
  readonly title: string;
  /** The file that holds the configuration. */
  readonly file: ComponentChildren;
}

const CLIENTS: Readonly<Record<string, Client>> = {
  vscode: {
    title: 'VS Code',
    file: (
      <>
        <code>.vscode/mcp.json</code> in your workspace, or the file that the command{' '}
        <b>MCP: Open User Configuration</b> opens
      </>
    ),
  },
  cursor: {
    title: 'Cursor',
    file: (
      <>
        <code>~/.cursor/mcp.json</code>, or <code>.cursor/mcp.json</code> in your project
      </>
    ),
  },
  'claude-code': {
    title: 'Claude Code',
    file: (
      <>
        <code>.mcp.json</code> in your project
      </>
    ),
  },
  codex: { title: 'Codex', file: <code>~/.codex/config.toml</code> },
  copilot: { title: 'Copilot CLI', file: <code>~/.copilot/mcp-config.json</code> },
};

/** The client chosen last, for the next entry. */
let lastClient = 'vscode';

/** Reads how to install a version; null: not at all. */
export function useSetup(registry: string, name: string, version: string | null): Query<ServerSetup> {
  return useQuery(version === null ? null : JSON.stringify([registry, name, version]), (signal) =>
    unwrap(
      api.GET('/registry/{registry}/v0.1/x/setup/{name}/versions/{version}', {
        params: { path: { registry, name, version: version ?? '' } },
        signal,
      }),
    ),
  );
}

interface Props {
  readonly name: string;
  readonly setup: ServerSetup;
  readonly document: ServerDocument;
}

/** How to install a server, for each client and each remote or package. */
export function Install({ name, setup: { options }, document }: Props): JSX.Element {
  const [client, setClient] = useState(lastClient);
  const [chosen, setChosen] = useState<string>();
  const { remotes = [], packages = [] } = document;
  const usable = options.filter(({ clients }) => clients.some(({ configuration }) => configuration));
  if (usable.length === 0) return <NotInstallable options={options} />;
  const setupOf = (option: Option) => option.clients.find((setup) => setup.client === client);
  // Clients use the first option that they support.
  const best = usable.find((option) => setupOf(option)?.configuration) ?? usable[0];
  const option = usable.find((each) => keyOf(each) === chosen) ?? best;
  const setup = option && setupOf(option);
  return (
    <section class="install">
      <h2>Install</h2>
      <Choices
        label="Client"
        name="client"
        value={client}
        options={Object.entries(CLIENTS).map(([key, { title }]) => [key, title] as const)}
        change={(to) => {
          lastClient = to;
          setClient(to);
        }}
      />
      {usable.length > 1 && option && (
        <label class="choice below">
          <span>Run as</span>
          <select value={keyOf(option)} onChange={({ currentTarget }) => setChosen(currentTarget.value)}>
            {usable.map((each) => (
              <option key={keyOf(each)} value={keyOf(each)}>
                {optionTitle(each, document)}
              </option>
            ))}
          </select>
        </label>
      )}
      {option && setup && (
        <Steps
          setup={setup}
          title={CLIENTS[client]?.title ?? client}
          file={CLIENTS[client]?.file}
          name={name}
          required={requiredNames(option.kind === 'remote' ? remotes[option.index] : packages[option.index])}
        />
      )}
    </section>
  );
}

function keyOf({ kind, index }: Option): string {
  return `${kind} ${index}`;
}

/** `npm: @acme/tool`, `streamable-http: acme.example` */
function optionTitle({ kind, index }: Option, { remotes = [], packages = [] }: ServerDocument): string {
  const title =
    kind === 'remote'
      ? `${remotes[index]?.type ?? 'remote'}: ${hostOf(remotes[index]?.url ?? '')}`
      : `${packages[index]?.registryType ?? 'package'}: ${packages[index]?.identifier ?? ''}`;
  return escapeInvisible(title, 100);
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}

function NotInstallable({ options }: { options: readonly Option[] }): JSX.Element {
  const explanations = options.flatMap(({ clients }) =>
    clients.flatMap(({ omitted }) => (omitted ? [omitted.explanation] : [])),
  );
  const reasons = [...new Set(explanations)];
  return (
    <section class="install">
      <h2>Install</h2>
      <div class="notice">
        <p>
          <b>Not installable here.</b>{' '}
          {reasons.length === 0 && 'The document names neither a remote nor a package.'}
          {reasons.length === 1 && <UntrustedText text={`${reasons[0] ?? ''}.`} />}
        </p>
        {reasons.length > 1 && (
          <ul class="bullets">
            {reasons.map((reason) => (
              <li key={reason}>
                <UntrustedText text={`${reason}.`} />
              </li>
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}

interface StepsProps {
  /** Of the server. */
  readonly name: string;
  readonly setup: Setup;
  readonly title: string;
  readonly file: ComponentChildren;
  readonly required: ReadonlySet<string>;
}

function Steps({ name, setup, title, file, required }: StepsProps): JSX.Element {
  const { client, configuration, omitted, toml } = setup;
  if (!configuration)
    return (
      <p class="notice">
        <b>Not installable in {title}.</b> <UntrustedText text={`${omitted?.explanation ?? ''}.`} />
      </p>
    );
  const content = configuration as Entry;
  const found = entryOf(content);
  const variables = variablesOf(content, found?.name ?? '');
  const command = found && commandFor(client, { ...found, name }, variables);
  const link = found && linkFor(client, found, content['inputs']);
  // The command has placeholders; the file refers to variables.
  const isFilledIn = command?.includes(PLACEHOLDER) === true;
  // The variables are above.
  const written = Object.fromEntries(Object.entries(content).filter(([key]) => key !== 'x-environment'));
  const code = (
    <Code text={toml ?? JSON.stringify(written, null, 2)} label={`Configuration for ${title}`} isWhole />
  );
  return (
    <>
      {link !== undefined && (
        <p class="below">
          <a class="button primary" href={link}>
            {client === 'cursor' ? 'Add to Cursor' : 'Install in VS Code'}
          </a>
        </p>
      )}
      {!isFilledIn && <Variables client={client} variables={variables} required={required} />}
      {command !== undefined && (
        <>
          <h3>Run this command</h3>
          <Code text={command} label={`Command for ${title}`} isWhole />
        </>
      )}
      {isFilledIn && <Placeholders variables={variables} required={required} />}
      {command === undefined && link === undefined ? (
        <>
          <h3>Add this to {file}</h3>
          {code}
        </>
      ) : (
        <details class="below">
          <summary>Or add this to {file}</summary>
          {isFilledIn && <Variables client={client} variables={variables} required={required} />}
          {code}
        </details>
      )}
    </>
  );
}

interface NamedEntry {
  readonly name: string;
  readonly entry: Entry;
}

function entryOf(configuration: Entry): NamedEntry | undefined {
  const servers = configuration['servers'] ?? configuration['mcpServers'] ?? configuration['mcp_servers'];
  const [first] = Object.entries((servers ?? {}) as Record<string, unknown>);
  if (!first || typeof first[1] !== 'object' || first[1] === null) return undefined;
  return { name: first[0], entry: first[1] as Entry };
}

function linkFor(client: string, { name, entry }: NamedEntry, inputs: unknown): string | undefined {
  if (client === 'vscode') return vscodeLink(name, entry, inputs);
  return client === 'cursor' ? cursorLink(name, entry) : undefined;
}

function commandFor(
  client: string,
  { name, entry }: NamedEntry,
  variables: readonly Variable[],
): string | undefined {
  if (client === 'claude-code')
    return claudeCommand(
      name,
      entry,
      variables.map(({ variable }) => variable),
    );
  const own = variables.filter(({ table }) => table !== undefined).map(({ variable }) => variable);
  return client === 'codex' ? codexCommand(name, entry, own) : undefined;
}

/**
 * Reads the environment variables, or what VS Code asks for.
 *
 * @param name of the server, with which the inputs of VS Code begin.
 */
function variablesOf(configuration: Entry, name: string): readonly Variable[] {
  if (Array.isArray(configuration['x-environment'])) return configuration['x-environment'] as Variable[];
  const inputs = Array.isArray(configuration['inputs']) ? (configuration['inputs'] as Entry[]) : [];
  return inputs.map(({ id, description, password }) => ({
    variable: withoutStart(String(id), `${name}/`),
    description: withoutStart(String(description), `${name}: `),
    isSecret: password === true,
  }));
}

function withoutStart(text: string, start: string): string {
  return text.startsWith(start) ? text.slice(start.length) : text;
}

/** The names of the inputs that a remote or package requires. */
function requiredNames(part: unknown): ReadonlySet<string> {
  if (typeof part !== 'object' || part === null) return new Set();
  const { name, isRequired } = part as Readonly<Record<string, unknown>>;
  const own = isRequired === true && typeof name === 'string' ? [name] : [];
  return new Set([...own, ...Object.values(part).flatMap((each) => [...requiredNames(each)])]);
}

interface VariablesProps extends Pick<StepsProps, 'required'> {
  readonly client: string;
  readonly variables: readonly Variable[];
}

function Variables({ client, variables, required }: VariablesProps): JSX.Element {
  if (variables.length === 0) return <></>;
  const [{ table } = { table: undefined }] = variables;
  return (
    <>
      <h3>
        {client === 'vscode' && 'VS Code will ask for'}
        {client !== 'vscode' && table === undefined && 'Set these environment variables first'}
        {table !== undefined && (
          <>
            Set these values in <code>[{escapeInvisible(table)}]</code>
          </>
        )}
      </h3>
      <VariableList variables={variables} required={required} />
    </>
  );
}

/** What to write instead of each placeholder of a command, in its order. */
function Placeholders({ variables, required }: Omit<VariablesProps, 'client'>): JSX.Element {
  const named = variables.map(({ name, ...more }) => ({ ...more, variable: name ?? more.variable }));
  return (
    <>
      <h3>
        Replace each <code>{PLACEHOLDER}</code> with your own
      </h3>
      <VariableList variables={named} required={required} />
    </>
  );
}

function VariableList({ variables, required }: Omit<VariablesProps, 'client'>): JSX.Element {
  const inputs = variables.map(({ variable, name, description, isSecret }) => ({
    name: variable,
    description,
    isRequired: required.has(name ?? variable),
    isSecret,
  }));
  return (
    <div class="variables">
      <InputList inputs={inputs} />
    </div>
  );
}
