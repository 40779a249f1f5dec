import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Starts a guard process that outlives this one. When this process ends, the guard's standard input closes, and the
 * guard stops PostgreSQL and removes its socket directory.
 *
 * @returns a function that ends the guard after a normal stop.
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
    // Kills the whole process group, which consists of the shell and `cat`.
    try {
      if (guard.pid !== undefined) process.kill(-guard.pid, 'SIGKILL');
    } catch {
      guard.stdin?.end();
    }
  };
}
