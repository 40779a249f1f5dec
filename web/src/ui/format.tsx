import type { JSX } from 'preact';
import { escapeInvisible } from './untrusted-text.js';

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

/** Relative time; the tooltip shows the exact time. */
export function Ago({ at }: { at: string }): JSX.Element {
  return (
    <time dateTime={at} title={exactTime(at)}>
      {relativeTime(at, Date.now())}
    </time>
  );
}

export function Day({ at }: { at: string }): JSX.Element {
  return (
    <time dateTime={at} title={exactTime(at)}>
      {Number.isNaN(Date.parse(at)) ? escapeInvisible(at) : day.format(new Date(at))}
    </time>
  );
}

export function exactTime(at: string): string {
  return Number.isNaN(Date.parse(at)) ? escapeInvisible(at) : exact.format(new Date(at));
}

function relativeTime(at: string, now: number): string {
  const seconds = Math.round((Date.parse(at) - now) / 1_000);
  if (Number.isNaN(seconds)) return escapeInvisible(at);
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? [];
  if (unit === undefined || size === undefined)
    return Math.abs(seconds) < 5 ? 'now' : relative.format(seconds, 'second');
  return relative.format(Math.round(seconds / size), unit);
}

/** `40 ms`, `2.3 s`, `4 min`, `3 h`, `5 days` */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 90) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** `900 B`, `1.2 KiB`, `16 MiB` */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB'];
  let size = bytes;
  let unit = 0;
  for (; size >= 1_024 && unit < units.length - 1; unit += 1) size /= 1_024;
  return `${size.toFixed(size < 10 && unit > 0 ? 1 : 0)} ${units[unit] ?? ''}`;
}

/** `1 server`, `2,400 servers` */
export function pluralize(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}
