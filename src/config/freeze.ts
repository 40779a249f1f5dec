/**
 * Freezes a tree of plain data, in place.
 *
 * Not what stands below a key `ssl`: node-postgres redefines members of those options.
 */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const [key, member] of Object.entries(value)) if (key !== 'ssl') freeze(member);
  return Object.freeze(value);
}
