import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { api, unwrap } from '../api/client.js';
import type { ServerDocument, ServerSetup } from '../api/types.js';
import { useSession } from '../session/session.js';
import { Choices } from '../ui/filter-controls.js';
import { type Query, useQuery } from '../ui/query.js';
import { Code, escapeInvisible, UntrustedText } from '../ui/untrusted-text.js';
import { useClient } from './chosen-client.js';
import {
  type Chosen,
  CONFIGURATION_FILES,
  type Installer,
  INSTALLERS,
  registryUrl,
} from './client-installers.js';
import { CLIENT_TITLES } from './clients.js';
import { CLAUDE_SCOPES, type ClaudeScope, toolhiveCommand } from './install-commands.js';
import {
  type Entry,
  type Field,
  fieldsOf,
  PLACEHOLDER,
  toolhiveFields,
  type Values,
} from './install-values.js';
import { ValueForm } from './value-form.js';

type Option = ServerSetup['options'][number];

const TOOLHIVE = 'toolhive';

/** Reads how to install a version; null if it cannot be installed. */
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
  readonly registry: string;
  readonly name: string;
  readonly setup: ServerSetup;
  readonly document: ServerDocument;
}

/** How to install a server with each client and each remote or package. */
export function InstallServer({ registry, name, setup, document }: Props): JSX.Element {
  const { options, runsInToolHive } = setup;
  const usable = options.filter(({ clients }) => clients.some(({ configuration }) => configuration));
  const clients = [
    ...(usable.length > 0 ? Object.keys(CONFIGURATION_FILES) : []),
    ...(runsInToolHive ? [TOOLHIVE] : []),
  ];
  const [client, choose] = useClient(clients);
  const [chosen, setChosen] = useState<string>();
  const [values, setValues] = useState<Values>({});
  if (clients.length === 0) return <NotInstallable options={options} />;
  const setupOf = (option: Option) => option.clients.find((each) => each.client === client);
  // Clients use the first option that they support.
  const best = usable.find((option) => setupOf(option)?.configuration) ?? usable[0];
  const option = usable.find((each) => keyOf(each) === chosen) ?? best;
  const clientSetup = option && setupOf(option);
  const form = { values, change: (to: Values) => setValues({ ...values, ...to }) };
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
      {client !== TOOLHIVE && usable.length > 1 && option && (
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
      {client === TOOLHIVE && <ToolHiveSteps registry={registry} name={name} document={document} {...form} />}
      {client === TOOLHIVE && usable.length === 0 && <OtherClients options={options} />}
      {client !== TOOLHIVE && option && clientSetup && (
        <Steps
          registry={registry}
          name={name}
          version={setup.version}
          setup={clientSetup}
          part={partOf(option, document)}
          {...form}
        />
      )}
    </section>
  );
}

function keyOf({ kind, index }: Option): string {
  return `${kind} ${index}`;
}

function partOf({ kind, index }: Option, { remotes = [], packages = [] }: ServerDocument): unknown {
  return kind === 'remote' ? remotes[index] : packages[index];
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

function reasonsOf(options: readonly Option[]): readonly string[] {
  const explanations = options.flatMap(({ clients }) =>
    clients.flatMap(({ omitted }) => (omitted ? [`${omitted.explanation}.`] : [])),
  );
  return [...new Set(explanations)];
}

function Reasons({ reasons }: { reasons: readonly string[] }): JSX.Element {
  if (reasons.length === 1) return <UntrustedText text={reasons[0] ?? ''} />;
  return (
    <ul class="bullets">
      {reasons.map((reason) => (
        <li key={reason}>
          <UntrustedText text={reason} />
        </li>
      ))}
    </ul>
  );
}

function NotInstallable({ options }: { options: readonly Option[] }): JSX.Element {
  const reasons = reasonsOf(options);
  return (
    <section class="install">
      <h2>Install</h2>
      <div class="notice">
        <b>Not installable from here.</b>{' '}
        {reasons.length === 0 ? (
          'The document has neither a remote nor a package.'
        ) : (
          <Reasons reasons={reasons} />
        )}
      </div>
    </section>
  );
}

/** Why the clients without a tab cannot install a server. */
function OtherClients({ options }: { options: readonly Option[] }): JSX.Element {
  return (
    <details class="below">
      <summary>Why no other client can start it</summary>
      <Reasons reasons={reasonsOf(options)} />
    </details>
  );
}

interface FormProps {
  readonly values: Values;
  readonly change: (to: Values) => void;
}

interface ToolHiveProps extends FormProps {
  readonly registry: string;
  readonly name: string;
  readonly document: ServerDocument;
}

/** ToolHive looks up the server in the registry, prefers its remotes, and keeps secrets itself. */
function ToolHiveSteps({ registry, name, document, values, change }: ToolHiveProps): JSX.Element {
  const { settings } = useSession();
  const image = (document.packages ?? []).find(({ registryType }) => registryType === 'oci');
  const hasRemotes = (document.remotes ?? []).length > 0;
  const fields = hasRemotes ? [] : toolhiveFields(image);
  const environment = fields.flatMap(({ name: variable, from }) => {
    const value = values[variable] ?? '';
    return from === 'form' && value !== '' ? [[variable, value] as const] : [];
  });
  const command = toolhiveCommand(registryUrl(registry), name, environment);
  return (
    <>
      <ValueForm fields={fields} values={values} change={change} asks="ToolHive" />
      {command === undefined ? (
        <p class="notice">A value has characters that a command cannot contain.</p>
      ) : (
        <>
          <h3>Run these commands</h3>
          <Code text={command} label="Command for ToolHive" isWhole />
        </>
      )}
      <p class="muted small-text">
        ToolHive starts the server in a container and adds it to your clients.
        {settings.mode === 'oauth' && ' It logs in to this registry with thv registry login.'}
      </p>
    </>
  );
}

interface StepsProps extends FormProps, Chosen {
  /** The remote or package of the document. */
  readonly part: unknown;
}

function Steps(props: StepsProps): JSX.Element {
  const { setup, part, values, change } = props;
  const { client, configuration, omitted } = setup;
  const [scope, setScope] = useState<ClaudeScope>('user');
  const title = CLIENT_TITLES[client] ?? client;
  const file = CONFIGURATION_FILES[client];
  if (!configuration)
    return (
      <p class="notice">
        <b>Not installable in {title}.</b> <UntrustedText text={`${omitted?.explanation ?? ''}.`} />
      </p>
    );
  const fields = fieldsOf(client, configuration as Entry, part);
  const {
    link,
    linkUnset = [],
    command,
    code,
    unset,
  }: Installer = INSTALLERS[client]?.(props, fields, scope) ?? { code: '', unset: [] };
  const block = <Code text={code} label={`Configuration for ${title}`} isWhole />;
  return (
    <>
      <ValueForm
        fields={fields}
        values={values}
        change={change}
        asks={client === 'vscode' ? title : undefined}
      />
      {client === 'claude-code' && (
        <label class="choice below">
          <span>Install it</span>
          <select value={scope} onChange={({ currentTarget: { value } }) => setScope(value as ClaudeScope)}>
            {Object.entries(CLAUDE_SCOPES).map(([each, label]) => (
              <option key={each} value={each}>
                {label}
              </option>
            ))}
          </select>
        </label>
      )}
      {link !== undefined && (
        <p class="below">
          <a class="button primary" href={link}>
            {client === 'cursor' ? 'Add to Cursor' : 'Install in VS Code'}
          </a>
        </p>
      )}
      {link !== undefined && (
        <Unset
          fields={linkUnset}
          lead="The link contains no secrets. Set these environment variables first: "
        />
      )}
      {command !== undefined && (
        <>
          <h3>Run {command.includes('\n') ? 'these commands' : 'this command'}</h3>
          <Code text={command} label={`Command for ${title}`} isWhole />
          {command.includes(PLACEHOLDER) && (
            <p class="muted small-text">
              Fill in the values above, or replace <code>{PLACEHOLDER}</code>.
            </p>
          )}
        </>
      )}
      {command === undefined && link === undefined ? (
        <>
          <h3>Add this to {file}</h3>
          <Unset fields={unset} />
          {block}
        </>
      ) : (
        <details class="below">
          <summary>Or add this to {file}</summary>
          <Unset fields={unset} />
          {block}
        </details>
      )}
    </>
  );
}

/** The environment variables, or members of a table, that the user sets for a file. */
function Unset({
  fields,
  lead = 'Set these environment variables first: ',
}: {
  fields: readonly Field[];
  lead?: string;
}): JSX.Element {
  if (fields.length === 0) return <></>;
  const [{ table } = { table: undefined }] = fields;
  return (
    <p class="small-text above-code">
      {table === undefined ? (
        lead
      ) : (
        <>
          Add these to <code>[{escapeInvisible(table)}]</code>:{' '}
        </>
      )}
      {fields.map(({ name, variable = name }, index) => (
        <span key={name}>
          {index > 0 && ', '}
          <code class="break">{escapeInvisible(variable)}</code>
          {variable !== name && (
            <>
              {' '}
              (<UntrustedText text={name} class="break" />)
            </>
          )}
        </span>
      ))}
    </p>
  );
}
