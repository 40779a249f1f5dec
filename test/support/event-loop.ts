/**
 * Returns the largest share of the CPU time of `work` that passed between two turns of the event loop: almost 1 if
 * `work` lets no other request proceed, regardless of the machine's speed. CPU time excludes other processes.
 */
export async function largestShareOfOneTurn(work: () => Promise<void>): Promise<number> {
  const began = process.cpuUsage();
  let last = began;
  let longest = 0;
  const turn = () => {
    const now = process.cpuUsage();
    longest = Math.max(longest, now.user + now.system - last.user - last.system);
    last = now;
  };
  const timer = setInterval(turn, 2);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
  turn();
  return longest / (last.user + last.system - began.user - began.system);
}
