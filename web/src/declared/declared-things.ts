/** Sources and registries: declared in the configuration, and changed there only, or through the API. */
export const DECLARED = {
  sources: { one: 'source', title: 'Sources' },
  registries: { one: 'registry', title: 'Registries' },
} as const;

/** The page of the list, which is also the first part of the address of each. */
export type DeclaredPlace = keyof typeof DECLARED;

/** In the place of a name, that of the form for a new one: no name has a `+`. */
export const NEW = '+new';
