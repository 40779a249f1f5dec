import type { JSX } from 'preact';

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium' });
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });

/** How long ago, or in how long; the exact time is its title. */
export function Ago({ at }: { at: string }): JSX.Element {
  return (
    <time dateTime={at} title={exactly(at)}>
      {agoText(at, Date.now())}
    </time>
  );
}

export function Day({ at }: { at: string }): JSX.Element {
  return (
    <time dateTime={at} title={exactly(at)}>
      {Number.isNaN(Date.parse(at)) ? at : day.format(new Date(at))}
    </time>
  );
}

export function exactly(at: string): string {
  return Number.isNaN(Date.parse(at)) ? at : exact.format(new Date(at));
}

export function agoText(at: string, now: number): string {
  const seconds = Math.round((Date.parse(at) - now) / 1_000);
  if (Number.isNaN(seconds)) return at;
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? [];
  if (unit === undefined || size === undefined)
    return Math.abs(seconds) < 5 ? 'now' : relative.format(seconds, 'second');
  return relative.format(Math.round(seconds / size), unit);
}

/** `40 ms`, `2.3 s`, `4 min` */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 90) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  return `${Math.round(seconds / 60)} min`;
}
