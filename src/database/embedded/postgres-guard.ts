import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Starts a process that outlives us: our end, of whatever kind, closes its standard input, and it stops the server and
 * removes its socket directory. Returns what ends the guard itself, for when the server was stopped in order.
 */
export function startGuard(server: ChildProcess, socketDirectory: string): () => void {
  const script = 'cat >/dev/null; kill -INT "$1" 2>/dev/null; sleep 2; rm -rf "$2"';
  const guard = spawn('/bin/sh', ['-c', script, 'guard', String(server.pid), socketDirectory], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.on('error', () => undefined);
  guard.unref();
  return () => {
    // Its whole group: the shell and the `cat` that waits. Nothing of ours outlives a stop.
    try {
      if (guard.pid !== undefined) process.kill(-guard.pid, 'SIGKILL');
    } catch {
      guard.stdin?.end();
    }
  };
}
