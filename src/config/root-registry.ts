/** The paths that the `rootRegistry` serves at the root. */
const ROOT_PATH = /^\/v0(\.1)?(\/|$)/;

/** reference/catalog: moves `/v0.1/…` and `/v0/…` below the path of `rootRegistry`; other paths stay the same. */
export function belowRootRegistry(path: string, rootRegistry: string | null): string {
  return rootRegistry !== null && ROOT_PATH.test(path) ? `/registry/${rootRegistry}${path}` : path;
}
