/** Why a start has failed, as a sentence for who has started it. */
export function startFailure(error: unknown): string {
  if (!(error instanceof Error)) return 'The server could not start';
  // Known by its name: the application is not loaded here.
  if (error.name === 'ConfigurationConflict') return `The configuration can't be applied:\n${error.message}`;
  if (error.name === 'DatabaseStartError') return error.message;
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code === 'EADDRINUSE')
    return `Port ${port} is in use already; choose another with --address or --internal-address`;
  if (code === 'EADDRNOTAVAIL')
    return `This machine has no address ${address}; see --address and --internal-address`;
  if (code === 'EACCES' && port !== undefined) return `The server may not listen on port ${port}`;
  return `The server could not start: ${error.message}`;
}
