import type { Template } from './template.js';

/** A header or an environment variable. */
export interface NamedTemplate {
  readonly name: string;
  readonly value: Template;
}

/** A server that somebody runs elsewhere. */
export interface RemoteConnection {
  readonly kind: 'remote';
  readonly transport: 'http' | 'sse';
  readonly url: Template;
  readonly headers: readonly NamedTemplate[];
}

/** A server that the client starts, and talks to over its standard input and output. */
export interface CommandConnection {
  readonly kind: 'command';
  readonly command: string;
  readonly args: readonly Template[];
  readonly environment: readonly NamedTemplate[];
}

/** How a client gets to a server, whichever client it is. */
export type Connection = RemoteConnection | CommandConnection;
