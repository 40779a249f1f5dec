import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import type { Source } from '../api/types.js';
import { LinesField, OneOf, Problems, TextField } from '../forms/fields.js';
import { SchemaFields, type Values } from '../forms/schema-fields.js';
import { type FieldProblems, resolveRef, type Schemas, without } from '../forms/schema.js';
import { FORMATS } from './formats.js';

type Kind = Source['kind'];

export interface KindProps {
  readonly value: Values;
  readonly change: (value: Values) => void;
  readonly problems: FieldProblems;
  readonly schemas: Schemas;
  /** Whether an existing source is being edited. */
  readonly isStored: boolean;
  /** Whether sources created here may read files on the server. */
  readonly mayReadFiles: boolean;
}

const ON_THE_SERVER =
  'A path on the server, below a folder that the configuration allows (adminFileRoots). It cannot be uploaded here.';

/** The settings of each kind of source. */
export const KIND_FIELDS: Readonly<Record<Kind, (props: KindProps) => JSX.Element>> = {
  file: FileFields,
  git: GitFields,
  api: ApiFields,
  managed: ManagedFields,
  kubernetes: KubernetesFields,
};

function FileFields(props: KindProps): JSX.Element {
  const { value, change, problems, mayReadFiles } = props;
  const [place, setPlace] = useState<'url' | 'path'>(value['path'] === undefined ? 'url' : 'path');
  const field =
    place === 'url' ? (
      <TextField
        key="url"
        label="URL"
        isRequired
        placeholder="https://example.com/registry.json"
        hint="A registry file, server documents or a plugin marketplace, as JSON. It is read again only when it has changed."
        value={value['url']}
        change={(url) => change({ ...value, url })}
        problems={problems.at('file.url')}
      />
    ) : (
      <TextField
        key="path"
        label="Path"
        isRequired
        placeholder="registry.json"
        hint={ON_THE_SERVER}
        value={value['path']}
        change={(path) => change({ ...value, path })}
        problems={problems.at('file.path')}
      />
    );
  const where =
    mayReadFiles || place === 'path' ? (
      <OneOf
        label="Where is the file?"
        name="file-place"
        options={[
          ['url', 'At a URL'],
          ['path', 'On the server'],
        ]}
        value={place}
        change={(to) => {
          setPlace(to);
          change(without(value, 'url', 'path'));
        }}
      >
        {field}
      </OneOf>
    ) : (
      field
    );
  return (
    <>
      {where}
      <FormatFields {...props} kind="file" />
    </>
  );
}

/** The format of a file or repository, if it should not be detected. */
function FormatFields({ kind, value, change, problems }: KindProps & { kind: 'file' | 'git' }): JSX.Element {
  const id = useId();
  const formats = Object.entries(FORMATS).filter(([format]) => kind === 'git' || format !== 'skills');
  return (
    <>
      <div class="field">
        <label for={id}>Format</label>
        <select
          id={id}
          aria-describedby={`${id}-hint`}
          value={typeof value['format'] === 'string' ? value['format'] : ''}
          onChange={({ currentTarget }) => change({ ...value, format: currentTarget.value })}
        >
          <option value="">Detected automatically</option>
          {formats.map(([format, title]) => (
            <option key={format} value={format}>
              {title}
            </option>
          ))}
        </select>
        <Problems id={`${id}-hint`} problems={problems.at(`${kind}.format`)} />
      </div>
      <TextField
        label="Namespace of plugins and skills"
        placeholder="io.github.acme"
        hint={
          kind === 'git'
            ? 'Derived from the address of the repository if empty.'
            : 'Required for a plugin marketplace.'
        }
        value={value['namespace']}
        change={(namespace) => change({ ...value, namespace })}
        problems={problems.at(`${kind}.namespace`)}
      />
    </>
  );
}

const REVISIONS = ['branch', 'tag', 'commit'] as const;
const REVISION_HINTS = {
  branch: 'The newest commit of the branch is read.',
  tag: 'The tag is followed if it moves.',
  commit: 'A full commit ID of 40 or 64 digits: the content never changes.',
} as const;
type Revision = (typeof REVISIONS)[number] | 'default';

function GitFields(props: KindProps): JSX.Element {
  const { value, change, problems } = props;
  const [revision, setRevision] = useState<Revision>(
    () => REVISIONS.find((each) => value[each] !== undefined) ?? 'default',
  );
  return (
    <>
      <TextField
        label="Repository"
        isRequired
        placeholder="https://github.com/acme/catalog.git"
        hint="An https:// or ssh:// address, or git@host:path."
        value={value['repository']}
        change={(repository) => change({ ...value, repository })}
        problems={problems.at('git.repository')}
      />
      <TextField
        label="Path in the repository"
        placeholder="catalog/servers.json"
        hint="The file or folder to read; detected automatically if empty."
        value={value['path']}
        change={(path) => change({ ...value, path })}
        problems={problems.at('git.path')}
      />
      <OneOf
        label="What to read"
        name="git-revision"
        options={[
          ['default', 'The default branch'],
          ['branch', 'A branch'],
          ['tag', 'A tag'],
          ['commit', 'One commit'],
        ]}
        value={revision}
        change={(to) => {
          setRevision(to);
          change(without(value, ...REVISIONS));
        }}
      >
        {revision !== 'default' && (
          <TextField
            key={revision}
            label={revision.charAt(0).toUpperCase() + revision.slice(1)}
            isRequired
            hint={REVISION_HINTS[revision]}
            value={value[revision]}
            change={(text) => change({ ...value, [revision]: text })}
            problems={problems.at(`git.${revision}`)}
          />
        )}
      </OneOf>
      <FormatFields {...props} kind="git" />
      <GitLogIn {...props} />
    </>
  );
}

const AUTH_FIELDS = {
  password: [
    ['username', 'User name', 'Many Git hosts accept any user name with a token.'],
    ['passwordFile', 'Password file', 'A file on the server that holds the password or token.'],
  ],
  key: [
    [
      'privateKeyFile',
      'Private key file',
      'A file on the server that contains an SSH key without a passphrase.',
    ],
    ['knownHostsFile', 'Known hosts file', 'A file on the server with the host keys to trust.'],
  ],
} as const;

function GitLogIn({ value, change, problems, mayReadFiles }: KindProps): JSX.Element {
  const auth = (value['auth'] ?? {}) as Values;
  const [way, setWay] = useState<'none' | 'password' | 'key'>(
    value['auth'] === undefined ? 'none' : auth['privateKeyFile'] === undefined ? 'password' : 'key',
  );
  // Passwords and keys are read from files.
  if (!mayReadFiles && way === 'none') return <></>;
  return (
    <OneOf
      label="Login at the Git host"
      name="git-auth"
      options={[
        ['none', 'None: the repository is public'],
        ['password', 'User name and password or token (https)'],
        ['key', 'Private key (ssh)'],
      ]}
      value={way}
      change={(to) => {
        setWay(to);
        change(without(value, 'auth'));
      }}
    >
      {way !== 'none' &&
        AUTH_FIELDS[way].map(([key, label, hint]) => (
          <TextField
            key={key}
            label={label}
            isRequired
            hint={hint}
            value={auth[key]}
            change={(text) => change({ ...value, auth: { ...auth, [key]: text } })}
            problems={problems.at(`git.auth.${key}`)}
          />
        ))}
    </OneOf>
  );
}

function ApiFields({ value, change, problems, mayReadFiles }: KindProps): JSX.Element {
  return (
    <>
      <TextField
        label="Endpoint"
        isRequired
        placeholder="https://registry.modelcontextprotocol.io"
        hint="The base URL of the other registry: /v0.1/servers is appended."
        value={value['endpoint']}
        change={(endpoint) => change({ ...value, endpoint })}
        problems={problems.at('api.endpoint')}
      />
      {(mayReadFiles || value['tokenFile'] !== undefined) && (
        <TextField
          label="Token file"
          hint="A file on the server with a bearer token, if the registry requires one."
          value={value['tokenFile']}
          change={(tokenFile) => change({ ...value, tokenFile })}
          problems={problems.at('api.tokenFile')}
        />
      )}
      <TextField
        label="Timeout"
        placeholder="10s"
        hint="Timeout per page; default 10s."
        value={value['timeout']}
        change={(timeout) => change({ ...value, timeout })}
        problems={problems.at('api.timeout')}
      />
    </>
  );
}

const MANAGED_HINTS = {
  names: 'Reserves names: the first rule that matches a name decides which claims its publishers must hold.',
  review: 'Names whose publications wait for reviewers. The first rule that matches a name decides.',
};

function ManagedFields({ value, change, problems, schemas }: KindProps): JSX.Element {
  return (
    <>
      <p class="muted below">
        Holds what people publish on this page, through the API or with mcp-publisher. A server has at most
        one such source.
      </p>
      <SchemaFields
        schema={resolveRef(schemas['SourceSettings']?.properties?.['managed'] ?? {}, schemas)}
        schemas={schemas}
        path="managed"
        problems={problems}
        hints={MANAGED_HINTS}
        value={value}
        change={change}
      />
    </>
  );
}

function KubernetesFields({ value, change, problems, isStored }: KindProps): JSX.Element {
  const [scope, setScope] = useState<'all' | 'some'>(
    isStored && value['namespaces'] === undefined ? 'all' : 'some',
  );
  return (
    <>
      <OneOf
        label="Namespaces"
        name="kubernetes-scope"
        options={[
          ['some', 'These namespaces'],
          ['all', 'All namespaces'],
        ]}
        value={scope}
        change={(to) => {
          setScope(to);
          change(without(value, 'namespaces'));
        }}
      >
        {scope === 'some' && (
          <LinesField
            label="Names"
            hint="The configuration decides which namespaces may be listed here (adminKubernetesNamespaces)."
            value={value['namespaces']}
            change={(namespaces) => change({ ...value, namespaces })}
            problems={problems.at('kubernetes.namespaces')}
          />
        )}
      </OneOf>
      <TextField
        label="Full list every"
        placeholder="1h"
        hint="The cluster is watched continuously; this is how often everything is read again."
        value={value['relistInterval']}
        change={(relistInterval) => change({ ...value, relistInterval })}
        problems={problems.at('kubernetes.relistInterval')}
      />
    </>
  );
}
