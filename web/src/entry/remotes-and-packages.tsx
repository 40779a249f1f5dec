import type { JSX } from 'preact';
import type { ServerDocument, SkillDocument } from '../api/types.js';
import { ExternalLink, isWebUrl, UntrustedText } from '../ui/untrusted-text.js';

type ServerPackage = NonNullable<ServerDocument['packages']>[number];
type SkillPackage = NonNullable<SkillDocument['packages']>[number];
type Remote = NonNullable<ServerDocument['remotes']>[number];
type Input = NonNullable<Remote['headers']>[number];

export function Remotes({ remotes }: { remotes: readonly Remote[] }): JSX.Element {
  if (remotes.length === 0) return <></>;
  return (
    <section>
      <h2>Remotes</h2>
      {remotes.map((remote, index) => (
        <div class="block" key={index}>
          <p>
            <span class="badge plain">
              <UntrustedText text={remote.type} />
            </span>{' '}
            <UntrustedText text={remote.url} class="break mono" />
          </p>
          <Inputs title="Headers" inputs={remote.headers ?? []} />
          <Inputs
            title="URL variables"
            inputs={Object.entries(remote.variables ?? {}).map(([name, input]) => ({ name, ...input }))}
          />
        </div>
      ))}
    </section>
  );
}

export function Packages({ packages }: { packages: readonly (ServerPackage | SkillPackage)[] }): JSX.Element {
  if (packages.length === 0) return <></>;
  return (
    <section>
      <h2>Packages</h2>
      {packages.map((each, index) => (
        <Package key={index} item={each} />
      ))}
    </section>
  );
}

function Package({ item }: { item: ServerPackage | SkillPackage }): JSX.Element {
  const server = 'transport' in item ? item : undefined;
  const skill = server ? undefined : (item as SkillPackage);
  const identifier = item.identifier ?? skill?.url ?? '';
  return (
    <div class="block">
      <p>
        <span class="badge plain">
          <UntrustedText text={item.registryType} />
        </span>{' '}
        {isWebUrl(identifier) ? (
          <ExternalLink to={identifier} />
        ) : (
          <UntrustedText text={identifier} class="break mono" />
        )}{' '}
        {server?.version !== undefined && <UntrustedText text={server.version} class="break version" />}
      </p>
      {server && (
        <p class="muted">
          <UntrustedText text={server.transport.type} />
          {server.runtimeHint !== undefined && (
            <>
              , runs with <UntrustedText text={server.runtimeHint} />
            </>
          )}
        </p>
      )}
      {skill?.ref !== undefined && (
        <p class="muted">
          at <UntrustedText text={skill.ref} />
        </p>
      )}
      <Inputs title="Environment" inputs={server?.environmentVariables ?? []} />
    </div>
  );
}

function Inputs({ title, inputs }: { title: string; inputs: readonly Input[] }): JSX.Element {
  if (inputs.length === 0) return <></>;
  return (
    <>
      <h3>{title}</h3>
      <InputList inputs={inputs} />
    </>
  );
}

/** Variables and arguments with their descriptions. */
function InputList({ inputs }: { inputs: readonly Input[] }): JSX.Element {
  return (
    <dl class="inputs">
      {inputs.map(({ name, description, isRequired, isSecret }, index) => (
        <div key={index}>
          <dt>
            <UntrustedText text={name} class="mono break" />
            {isRequired === true && <span class="badge plain">required</span>}
            {isSecret === true && <span class="badge plain">secret</span>}
          </dt>
          {description !== undefined && (
            <dd>
              <UntrustedText text={description} class="break" />
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}
