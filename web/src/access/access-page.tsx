import type { JSX } from 'preact';
import type { Route } from '../navigation/route.js';

export function AccessPage(_: { route: Route }): JSX.Element {
  return <></>;
}
