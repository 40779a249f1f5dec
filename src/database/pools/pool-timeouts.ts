/** How long a new connection to PostgreSQL may take. */
export const CONNECT_TIMEOUT_MS = 5_000;
/** How long a statement may take. */
export const STATEMENT_TIMEOUT_MS = 60_000;
/** What PostgreSQL ends by itself of a search, should it not be told to. */
export const SEARCH_STATEMENT_TIMEOUT_MS = 30_000;
