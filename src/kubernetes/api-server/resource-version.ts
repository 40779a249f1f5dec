/**
 * Whether one resource version of a collection is earlier than another one. They are decimal numbers that only grow (API
 * conventions of Kubernetes, and for clients to rely on since v1.35); of anything else nothing is known.
 */
export function isEarlierVersion(one: string, other: string): boolean {
  return isNumber(one) && isNumber(other) && BigInt(one) < BigInt(other);
}

function isNumber(version: string): boolean {
  return /^\d{1,40}$/.test(version);
}
