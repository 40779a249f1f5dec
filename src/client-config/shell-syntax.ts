/** What means something to `cmd.exe` or to a POSIX shell, but for what only names files. */
export const SHELL_SYNTAX = /["'`$&|;<>^%!()\\\n\r\t]/;

/**
 * Commands that are batch files on Windows. They run by `cmd.exe`, and clients quote their arguments for white space alone.
 */
export function isBatchFileOnWindows(command: string): boolean {
  return command === 'npx' || command === 'dnx';
}
