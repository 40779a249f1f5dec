import type { ComponentChildren, JSX } from 'preact';
import type { Asked } from '../api/use-answer.js';
import { Refusal } from './refusal.js';
import { Waiting } from './waiting.js';

interface Props<T> {
  readonly asked: Asked<T>;
  readonly children: (value: T) => ComponentChildren;
}

/** An answer, or why there is none, or that it is under way. */
export function Answered<T>({ asked, children }: Props<T>): JSX.Element {
  if (asked.failure)
    return <Refusal failure={asked.failure} again={asked.again} isAsking={asked.isWaiting} />;
  if (asked.value === undefined) return <Waiting />;
  return <>{children(asked.value)}</>;
}
