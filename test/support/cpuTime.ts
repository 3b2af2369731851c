/** Measures the CPU time of `work` in milliseconds. Unlike wall-clock time, it is independent of other load. */
export const cpuMillis = (work: () => void): number => {
  const started = process.cpuUsage()
  work()
  const { system, user } = process.cpuUsage(started)
  return (system + user) / 1000
}
