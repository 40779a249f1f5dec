import type { JSX } from 'preact';

export function Connect(_: { registry: string; name: string; version: string }): JSX.Element {
  return <></>;
}
