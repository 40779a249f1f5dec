import type { JSX } from 'preact';
import type { ServerDocument, SkillDocument } from '../api/types.js';
import { ExternalLink, leadsToWeb } from '../ui/external-link.js';
import { Plain } from '../ui/plain.js';

type ServerPackage = NonNullable<ServerDocument['packages']>[number];
type SkillPackage = NonNullable<SkillDocument['packages']>[number];
type Remote = NonNullable<ServerDocument['remotes']>[number];
type Input = NonNullable<Remote['headers']>[number];

export function Remotes({ remotes }: { remotes: readonly Remote[] }): JSX.Element {
  if (remotes.length === 0) return <></>;
  return (
    <section>
      <h2>Remotes</h2>
      {remotes.map((remote, place) => (
        <div class="block" key={place}>
          <p>
            <span class="badge plain">
              <Plain text={remote.type} />
            </span>{' '}
            <Plain text={remote.url} class="break mono" />
          </p>
          <Inputs title="Headers" inputs={remote.headers ?? []} />
          <Inputs
            title="Variables of the address"
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
      {packages.map((each, place) => (
        <Package key={place} of={each} />
      ))}
    </section>
  );
}

function Package({ of }: { of: ServerPackage | SkillPackage }): JSX.Element {
  const server = 'transport' in of ? of : undefined;
  const skill = server ? undefined : (of as SkillPackage);
  const identifier = of.identifier ?? skill?.url ?? '';
  return (
    <div class="block">
      <p>
        <span class="badge plain">
          <Plain text={of.registryType} />
        </span>{' '}
        {leadsToWeb(identifier) ? (
          <ExternalLink to={identifier} />
        ) : (
          <Plain text={identifier} class="break mono" />
        )}{' '}
        {server?.version !== undefined && <Plain text={server.version} class="break version" />}
      </p>
      {server && (
        <p class="muted">
          <Plain text={server.transport.type} />
          {server.runtimeHint !== undefined && (
            <>
              , by <Plain text={server.runtimeHint} />
            </>
          )}
        </p>
      )}
      {skill?.ref !== undefined && (
        <p class="muted">
          at <Plain text={skill.ref} />
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
      <dl class="inputs">
        {inputs.map(({ name, description, isRequired, isSecret }, place) => (
          <div key={place}>
            <dt>
              <Plain text={name} class="mono break" />
              {isRequired === true && <span class="badge plain">required</span>}
              {isSecret === true && <span class="badge plain">secret</span>}
            </dt>
            {description !== undefined && (
              <dd>
                <Plain text={description} class="break" />
              </dd>
            )}
          </div>
        ))}
      </dl>
    </>
  );
}
