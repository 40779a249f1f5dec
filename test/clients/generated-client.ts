/** What the test requires of a client generated from the OpenAPI document. */
export interface FetchClient {
  /** `name@version status` of each version in a registry, read in pages of one. */
  list(registry: string): Promise<string[]>;
  /** A server's first remote, and the status of a second, conditional read. */
  read(registry: string, name: string): Promise<{ remote: string | undefined; again: number }>;
  /** Returns `published`, or the code of the refusal. */
  publish(name: string, team: string): Promise<string>;
  /**
   * PUTs back what GET returned for a source, with other claims; returns `put`, or the code of the refusal.
   */
  relabel(source: string, team: string): Promise<string>;
}

export interface Sdk {
  /** One word per response of several operations. */
  ask(registry: string): Promise<string[]>;
}

export type Connect<C> = (baseUrl: string, token: string) => C;
