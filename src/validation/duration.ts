const SECOND = 1_000;
const UNITS = { d: 86_400 * SECOND, h: 3_600 * SECOND, m: 60 * SECOND, s: SECOND } as const;
const FORM = /^(?=\d)(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?$/;

const SHORTEST_MS = SECOND;
const LONGEST_MS = 365 * UNITS.d;

/**
 * `30m`, `1h30m`, `45s`, `2d` → milliseconds: whole numbers, units from large to small, each once. A number alone is
 * refused: it could be seconds or minutes.
 *
 * @returns undefined when the text is no duration, or lies outside of the bounds, by default 1 s … 365 d.
 */
export function parseDuration(
  text: string,
  shortestMs: number = SHORTEST_MS,
  longestMs: number = LONGEST_MS,
): number | undefined {
  const match = FORM.exec(text);
  if (!match) return undefined;
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = match.slice(1).map((digits) => Number(digits ?? 0));
  const total = days * UNITS.d + hours * UNITS.h + minutes * UNITS.m + seconds * UNITS.s;
  return total >= shortestMs && total <= longestMs ? total : undefined;
}

/** Milliseconds (whole seconds) → `1h30m`; the largest unit is the hour. `parseDuration` reads it back. */
export function formatDuration(ms: number): string {
  const parts = [
    { amount: Math.floor(ms / UNITS.h), unit: 'h' },
    { amount: Math.floor((ms % UNITS.h) / UNITS.m), unit: 'm' },
    { amount: Math.floor((ms % UNITS.m) / UNITS.s), unit: 's' },
  ];
  const given = parts.filter(({ amount }) => amount > 0);
  return given.length > 0 ? given.map(({ amount, unit }) => `${amount}${unit}`).join('') : '0s';
}
