import { givenOnce } from './query-checks.js';

/** Versions or entries on one page at most (contract §6, §7). */
export const MAX_PAGE = 100;

const PAGE_LIMIT = /^([1-9]\d?|100)$/;

/** The parameter `limit` of a list. */
export const limitParameter = givenOnce(`a whole number from 1 to ${MAX_PAGE}`, (text) =>
  PAGE_LIMIT.test(text),
);
