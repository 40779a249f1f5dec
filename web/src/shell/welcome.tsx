import type { JSX } from 'preact';
import { LogInButtons } from './log-in-buttons.js';

/** For who has not logged in: there is nothing to show them. */
export function Welcome(): JSX.Element {
  return (
    <section class="welcome">
      <h1>MCP servers and skills, as far as they are for you</h1>
      <p>Log in to see the registries that you may enter, and in them the entries that you may see.</p>
      <LogInButtons />
    </section>
  );
}
