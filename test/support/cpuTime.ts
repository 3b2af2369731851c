/** Milliseconds of processor time that work takes: unlike the clock on the wall, it does not see what else the machine does. */
export const cpuMillis = (work: () => void): number => {
  const started = process.cpuUsage()
  work()
  const { system, user } = process.cpuUsage(started)
  return (system + user) / 1000
}
