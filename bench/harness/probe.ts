// Loaded into a measured process (`node --import`): tells what it uses whenever its parent asks, and is in nobody's way.
process.on('message', () => {
  const memory = process.memoryUsage();
  process.send?.({ ...memory, peak: process.resourceUsage().maxRSS * 1_024, cpu: process.cpuUsage() });
});
process.channel?.unref();
// A benchmark that broke off leaves no service behind.
process.on('disconnect', () => process.exit());

export interface Usage {
  /** Bytes, all of them. */
  readonly rss: number;
  readonly heapUsed: number;
  readonly heapTotal: number;
  readonly external: number;
  readonly arrayBuffers: number;
  /** The highest `rss` there was. */
  readonly peak: number;
  /** Microseconds. */
  readonly cpu: { readonly user: number; readonly system: number };
}
