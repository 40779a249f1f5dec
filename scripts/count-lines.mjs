// Counts source files and their lines, without tests: `node scripts/count-lines.mjs [checkout]`.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const root = process.argv[2] ?? join(import.meta.dirname, '..');
const FOLDERS = { src: /(?<!\.spec)\.ts$/, 'web/src': /(?<!\.spec)\.tsx?$/ };

for (const [folder, isSource] of Object.entries(FOLDERS)) {
  const files = readdirSync(join(root, folder), { recursive: true })
    .filter((file) => isSource.test(file))
    .map((file) => ({ file, lines: linesOf(join(root, folder, file)) }))
    .sort((one, other) => one.lines - other.lines);
  const share = (part) => `${Math.round((100 * part.length) / files.length)} %`;
  const figures = {
    files: files.length,
    lines: files.reduce((sum, { lines }) => sum + lines, 0),
    median: files[Math.floor(files.length / 2)].lines,
    '40 lines or fewer': share(files.filter(({ lines }) => lines <= 40)),
    'more than 400 lines': files.filter(({ lines }) => lines > 400).length,
  };
  process.stdout.write(`${folder}\n`);
  for (const [name, figure] of Object.entries(figures))
    process.stdout.write(`${String(figure).padStart(7)}  ${name}\n`);
  for (const { file, lines } of files.filter((one) => one.lines > 400))
    process.stdout.write(`         ${lines} ${file}\n`);
}

/** Counts lines as `wc -l` does. */
function linesOf(file) {
  return readFileSync(file, 'utf8').split('\n').length - 1;
}
