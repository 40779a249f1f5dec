import type { ComponentChildren, JSX } from 'preact';
import type { Asked } from '../api/use-answer.js';
import { hashOf } from '../navigation/route.js';
import { Answered } from '../ui/answered.js';
import { Empty } from '../ui/empty.js';
import { Plain } from '../ui/plain.js';
import { DECLARED, type DeclaredPlace, NEW } from './declared-things.js';

interface Props<T> {
  readonly place: DeclaredPlace;
  readonly asked: Asked<readonly T[]>;
  /** What such a thing is, for who has none. */
  readonly whatItIs: string;
  readonly children: (all: readonly T[]) => ComponentChildren;
}

/** All sources, or registries, that the caller manages. */
export function DeclaredList<T>({ place, asked, whatItIs, children }: Props<T>): JSX.Element {
  const { one, title } = DECLARED[place];
  return (
    <>
      <div class="page-head">
        <h1>{title}</h1>
        <a class="button primary" href={`#/${place}/${NEW}`}>
          New {one}
        </a>
      </div>
      <Answered asked={asked}>
        {(all) =>
          all.length === 0 ? (
            <Empty title={`There is no ${one} that you manage`}>{whatItIs}</Empty>
          ) : (
            children(all)
          )
        }
      </Answered>
    </>
  );
}

/** Its name, and whether it is changed here. */
export function DeclaredName({
  place,
  of: { name, origin },
}: {
  place: DeclaredPlace;
  of: { readonly name: string; readonly origin: string };
}): JSX.Element {
  return (
    <th scope="row">
      <a href={hashOf([place, name])}>
        <Plain text={name} class="break" />
      </a>
      {origin === 'config' && <p class="muted small-text">from the configuration</p>}
    </th>
  );
}
