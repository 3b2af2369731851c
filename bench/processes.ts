/** Child processes of a run: started, awaited, pinned where the system can, stopped. */
import { spawn, spawnSync } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { cpus } from "node:os"

// With fewer cores the database would share one of them, and pinning would only choose who waits.
const canPin = process.platform === "linux" && cpus().length >= 4 && spawnSync("taskset", ["--version"]).status === 0

/** Whether servers and load are kept on different cores. */
export const pinned = canPin

/** The core of what is measured, and that of the load; the database may use all. */
export const cores = { server: 0, load: 1 } as const

const withPin = (core: number | undefined, args: ReadonlyArray<string>): readonly [string, ReadonlyArray<string>] =>
  canPin && core !== undefined ? ["taskset", ["-c", String(core), process.execPath, ...args]] : [process.execPath, args]

// Whatever ends a run, its servers end with it.
const children = new Set<ChildProcess>()
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL")
})
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1))

const PERIOD_MICROS = 10_000

// How a control group is told how much of a core it gets, by its version.
const limitsOf = (micros: number) => [
  {
    directory: "/sys/fs/cgroup/cpu",
    files: { "cpu.cfs_period_us": `${PERIOD_MICROS}`, "cpu.cfs_quota_us": `${micros}` },
  },
  { directory: "/sys/fs/cgroup", files: { "cpu.max": `${micros} ${PERIOD_MICROS}` } },
]

/** Leaves a process so much of a core, where the system lets us say so. Answers whether it does. */
export const limitTo = (share: number, pid: number | undefined): boolean =>
  limitsOf(Math.round(share * PERIOD_MICROS)).some(({ directory, files }) => {
    const group = `${directory}/keyshelf-bench-${pid}`
    try {
      mkdirSync(group)
    } catch {
      return false
    }
    process.once("exit", () => {
      try {
        rmdirSync(group)
      } catch {
        // Its process has not quite ended; an empty group harms nobody.
      }
    })
    // A system that controls the processor elsewhere, or not at all, takes this for any other directory.
    if (!Object.keys(files).every((name) => existsSync(`${group}/${name}`))) return false
    for (const [name, text] of Object.entries(files)) writeFileSync(`${group}/${name}`, text)
    writeFileSync(`${group}/cgroup.procs`, String(pid))
    return true
  })

/** A running server. */
export interface Running {
  readonly process: ChildProcess
  readonly stop: () => Promise<void>
  /** Waits until it has printed something, and answers that. */
  readonly says: (what: RegExp) => Promise<string>
}

/** Starts `node <args>` and waits until it prints `ready`. */
export const start = async (
  args: ReadonlyArray<string>,
  options: { readonly env: Record<string, string>; readonly ready: RegExp; readonly core?: number },
): Promise<Running> => {
  const [command, all] = withPin(options.core, args)
  const child = spawn(command, all, { env: { ...process.env, ...options.env }, stdio: "pipe" })
  children.add(child)
  child.once("exit", () => children.delete(child))
  let output = ""
  const keep = (chunk: Buffer) => (output = (output + chunk.toString()).slice(-20_000))
  child.stdout.on("data", keep)
  child.stderr.on("data", keep)
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()))
  const says = async (what: RegExp) => {
    const deadline = Date.now() + 120_000
    for (;;) {
      const [found] = what.exec(output) ?? []
      if (found !== undefined) return found
      if (child.exitCode !== null || Date.now() > deadline) {
        throw new Error(`${args.join(" ")} does not say ${what.source}:\n${output}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  await says(options.ready)
  return {
    process: child,
    says,
    stop: async () => {
      child.kill("SIGTERM")
      const timer = setTimeout(() => child.kill("SIGKILL"), 15_000)
      await exited
      clearTimeout(timer)
    },
  }
}

/** Runs `node <args>` to its end with text on its standard input; answers its standard output. */
export const run = (
  args: ReadonlyArray<string>,
  options: { readonly input?: string; readonly env?: Record<string, string>; readonly core?: number } = {},
): Promise<string> =>
  new Promise((resolve, reject) => {
    const [command, all] = withPin(options.core, args)
    const child = spawn(command, all, { env: { ...process.env, ...options.env }, stdio: ["pipe", "pipe", "inherit"] })
    let output = ""
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()))
    child.once("error", reject)
    child.once("close", (code) =>
      code === 0 ? resolve(output) : reject(new Error(`${args.join(" ")} ended with ${code}`)),
    )
    child.stdin.end(options.input ?? "")
  })

/** Ports that are free now. */
export const freePorts = async (count: number): Promise<ReadonlyArray<number>> => {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<ReturnType<typeof createServer>>((resolve) => {
          const server = createServer()
          server.listen(0, "127.0.0.1", () => resolve(server))
        }),
    ),
  )
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}

/** Resident memory of a process in MiB; nothing where the system does not tell. */
export const memoryOf = (pid: number | undefined): number | undefined => {
  try {
    const line = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))
    return line === null ? undefined : Math.round(Number(line[1]) / 1024)
  } catch {
    return undefined
  }
}

// Linux counts processor time in hundredths of a second.
const MICROS_OF_TICK = 10_000

// User and system time, and that of children which have ended: a server of connections outlives them.
const processorTimeOf = (pid: number | string): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * MICROS_OF_TICK, 0)
}

const isDatabase = (pid: string): boolean => {
  try {
    return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/comm`, "utf8").startsWith("postgres")
  } catch {
    return false
  }
}

/** Microseconds of processor that these processes, and PostgreSQL on this machine, have taken until now. */
export interface ProcessorTime {
  readonly service: number
  readonly database: number
}

/** Processor time until now; nothing where the system does not tell. Of connections that end right now it may miss some. */
export const processorTime = (running: ReadonlyArray<Running>): ProcessorTime | undefined => {
  try {
    const timesOf = (pids: ReadonlyArray<number | string>) =>
      pids.reduce<number>((sum, pid) => sum + processorTimeOf(pid), 0)
    return {
      service: timesOf(running.flatMap(({ process: { pid } }) => (pid === undefined ? [] : [pid]))),
      database: timesOf(readdirSync("/proc").filter(isDatabase)),
    }
  } catch {
    return undefined
  }
}

/** The load of the machine per core over the last minute: above 1, figures say little. */
export const busyness = (): string => {
  try {
    return readFileSync("/proc/loadavg", "utf8").split(" ")[0] ?? "?"
  } catch {
    return "?"
  }
}
