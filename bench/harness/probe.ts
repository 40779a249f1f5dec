// Preloaded into a measured process (`node --import`): reports resource usage when the parent asks.
process.on('message', () => {
  const memory = process.memoryUsage();
  process.send?.({ ...memory, peak: process.resourceUsage().maxRSS * 1_024, cpu: process.cpuUsage() });
});
process.channel?.unref();
// Exits with the parent, so that an aborted benchmark leaves no service behind.
process.on('disconnect', () => process.exit());

export interface Usage {
  /** Bytes, as are all sizes here. */
  readonly rss: number;
  readonly heapUsed: number;
  readonly heapTotal: number;
  readonly external: number;
  readonly arrayBuffers: number;
  /** The highest `rss` so far. */
  readonly peak: number;
  /** Microseconds. */
  readonly cpu: { readonly user: number; readonly system: number };
}
