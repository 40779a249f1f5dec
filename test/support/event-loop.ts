/**
 * Returns the longest time in milliseconds that `work` blocked the event loop. Measures CPU time, since wall
 * time includes other processes on a busy machine.
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
