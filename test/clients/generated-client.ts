/** What the test asks of a client that was made of the OpenAPI document. */
export interface FetchClient {
  /** `name@version status` of each version in a registry, read in pages of one. */
  list(registry: string): Promise<string[]>;
  /** The first remote of a server, and the status of the second time it is read. */
  read(registry: string, name: string): Promise<{ remote: string | undefined; again: number }>;
  /** `published`, or the code of the refusal. */
  publish(name: string, team: string): Promise<string>;
  /** Puts back what was read of a source, its claims changed; `put`, or the code of the refusal. */
  relabel(source: string, team: string): Promise<string>;
}

export interface Sdk {
  /** What each of some operations has answered, in a word. */
  ask(registry: string): Promise<string[]>;
}

export type Connect<C> = (baseUrl: string, token: string) => C;
