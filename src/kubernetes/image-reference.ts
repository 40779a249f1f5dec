import { packageVersionProblem } from '../documents/versions.js';

/** Three numbers, a pre-release if need be, a `v` in front if need be; no build metadata. */
const USABLE_VERSION =
  /^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][\da-zA-Z-]*))*)?$/;
const MAX_VERSION_LENGTH = 255;

/** Whether this may be the version of a server from a cluster. */
export function isUsableVersion(version: string): boolean {
  return version.length <= MAX_VERSION_LENGTH && USABLE_VERSION.test(version);
}

/** The parts of an image reference that identify a version. A port of the registry's host is no tag. */
export function partsOf(image: string): { tag: string | undefined; digest: string | undefined } {
  const [named = '', digest] = image.split('@', 2);
  const tag = named.slice(named.lastIndexOf('/') + 1).split(':', 2)[1];
  return { tag: tag || undefined, digest: digest || undefined };
}

/** The version of a package of this image: the digest, or else a tag that names one version. */
export function packageVersionOf(image: string): string | undefined {
  const { tag, digest } = partsOf(image);
  if (digest !== undefined) return digest;
  return tag !== undefined && packageVersionProblem(tag) === null ? tag : undefined;
}
