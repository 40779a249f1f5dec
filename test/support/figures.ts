import type { Reply } from './http.js';

/** The series of a `/metrics` response, labels sorted, with their values. */
export function figuresIn({ text }: Reply): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      return [line.slice(0, end), Number(line.slice(end + 1))];
    }),
  );
}
