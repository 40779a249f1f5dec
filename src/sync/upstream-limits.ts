/** Connections to one upstream at a time. */
export const MAX_CONNECTIONS = 8;

// What is read of another MCP registry in one run.
export const MAX_RUN_MS = 60 * 60 * 1_000;
export const MAX_PAGES = 20_000;
export const MAX_PAGE_BYTES = 16 * 1024 * 1024;
/** Pages in a row that bring nothing that was not there before, from a list that never ends. */
export const MAX_EMPTY_PAGES = 100;
export const MAX_VERSIONS = 500_000;
/** Of all documents together. */
export const MAX_BYTES = 128 * 1024 * 1024;
