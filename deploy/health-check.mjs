// Requests `health` (default) or `readiness` from this container's server. Reads the internal address from
// the command line of process 1, so a changed port needs no change here.
import { readFileSync } from 'node:fs';
import process from 'node:process';

const DEFAULT = ':8081';
const [question = 'health', commandLine = '/proc/1/cmdline'] = process.argv.slice(2);

const address = addressIn(readFileSync(commandLine, 'utf8').split('\0')) ?? DEFAULT;
const base = `http://${address.startsWith(':') ? `127.0.0.1${address}` : address}`;
const answered = await globalThis.fetch(`${base}/${question}`).catch(() => undefined);
process.exitCode = answered?.ok ? 0 : 1;

function addressIn(words) {
  const option = '--internal-address';
  const position = words.lastIndexOf(option);
  if (position >= 0) return words[position + 1];
  return words.findLast((word) => word.startsWith(`${option}=`))?.slice(option.length + 1);
}
