import type { ComponentChildren, JSX } from 'preact';
import { goTo, hashOf } from '../navigation/route.js';
import { DangerButton } from '../ui/act.js';
import { Fact } from '../ui/facts.js';
import { Plain } from '../ui/plain.js';
import { DECLARED, type DeclaredPlace } from './declared-things.js';

interface Props {
  readonly place: DeclaredPlace;
  readonly name: string;
  readonly origin: string;
  /** Beside its name. */
  readonly state?: ComponentChildren;
  /** What deleting it means. */
  readonly deleting: string;
  readonly remove: () => Promise<unknown>;
  /** What else can be done with it. */
  readonly children: ComponentChildren;
}

/** The name of a source or registry, and what can be done with it: of the configuration's, nothing is changed here. */
export function DeclaredHead({ place, name, origin, state, deleting, remove, children }: Props): JSX.Element {
  return (
    <div class="page-head">
      <h1>
        <Plain text={name} class="break" /> {state}
      </h1>
      <p class="buttons">
        {children}
        {origin === 'api' && (
          <>
            <a class="button" href={hashOf([place, name, 'edit'])}>
              Edit
            </a>
            <DangerButton
              label="Delete"
              question={`Delete the ${DECLARED[place].one} ${name}?`}
              act={async () => {
                await remove();
                goTo(`#/${place}`);
              }}
            >
              {deleting}
            </DangerButton>
          </>
        )}
      </p>
    </div>
  );
}

export function DeclaredBy({ origin }: { origin: string }): JSX.Element {
  return (
    <Fact name="Declared">
      {origin === 'config' ? 'in the configuration file, and changed there only' : 'through the API'}
    </Fact>
  );
}

export function ToAll({ place }: { place: DeclaredPlace }): JSX.Element {
  return (
    <p class="trail">
      <a href={`#/${place}`}>← {DECLARED[place].title}</a>
    </p>
  );
}
