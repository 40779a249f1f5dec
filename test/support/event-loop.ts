/**
 * The longest time in milliseconds that the event loop was held up by work of this process while something was done: in CPU
 * time, because on a busy machine the clock counts what others do.
 */
export async function longestBlock(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  let last = process.cpuUsage();
  const look = () => {
    const now = process.cpuUsage();
    longest = Math.max(longest, now.user + now.system - last.user - last.system);
    last = now;
  };
  const timer = setInterval(look, 2);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  look();
  return longest / 1_000;
}
