/** Starts, pins (where the system supports it) and stops the child processes of a run, and measures their processor time. */
import { spawn, spawnSync } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { cpus } from "node:os"
import { createInterface } from "node:readline"

// With fewer cores the database would compete for a pinned core.
const canPin = process.platform === "linux" && cpus().length >= 4 && spawnSync("taskset", ["--version"]).status === 0

/** Whether servers and load are pinned to different cores. */
export const pinned = canPin

/** The core of the measured server and the core of the load. The database may use all cores. */
export const cores = { server: 0, load: 1 } as const

const withPin = (core: number | undefined, args: ReadonlyArray<string>): readonly [string, ReadonlyArray<string>] =>
  canPin && core !== undefined ? ["taskset", ["-c", String(core), process.execPath, ...args]] : [process.execPath, args]

// Kill all servers when the run ends, also after an error or a signal.
const children = new Set<ChildProcess>()
process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL")
})
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1))

const PERIOD_MICROS = 10_000

// The files that set the processor limit of a control group, for both versions.
const limitsOf = (micros: number) => [
  {
    directory: "/sys/fs/cgroup/cpu",
    files: { "cpu.cfs_period_us": `${PERIOD_MICROS}`, "cpu.cfs_quota_us": `${micros}` },
  },
  { directory: "/sys/fs/cgroup", files: { "cpu.max": `${micros} ${PERIOD_MICROS}` } },
]

/** Limits a process to a share of a core. Returns false where the system does not support it. */
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
        // Its process is still ending. An empty group is harmless.
      }
    })
    // Without a processor controller at this path, it is a plain directory without these files.
    if (!Object.keys(files).every((name) => existsSync(`${group}/${name}`))) return false
    for (const [name, text] of Object.entries(files)) writeFileSync(`${group}/${name}`, text)
    writeFileSync(`${group}/cgroup.procs`, String(pid))
    return true
  })

/** A running server. */
export interface Running {
  readonly process: ChildProcess
  readonly stop: () => Promise<void>
  /** Waits for output that matches, and returns the match. */
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
        throw new Error(`${args.join(" ")} did not print ${what.source}:\n${output}`)
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

/** Starts `node <args>`, which prints `ready` and then answers each line of JSON with one. */
export const startConversation = async (args: ReadonlyArray<string>, core?: number) => {
  const [command, all] = withPin(core, args)
  const child = spawn(command, all, { stdio: ["pipe", "pipe", "inherit"] })
  children.add(child)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async (): Promise<string> => {
    const { done, value } = await lines.next()
    if (done === true) throw new Error(`${args.join(" ")} has ended`)
    return value
  }
  await nextLine()
  return {
    ask: async (question: object): Promise<unknown> => {
      child.stdin.write(`${JSON.stringify(question)}\n`)
      return JSON.parse(await nextLine())
    },
    stop: async () => {
      const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()))
      child.stdin.end()
      await exited
      children.delete(child)
    },
  }
}

/** Runs `node <args>` with text on its standard input until it exits. Returns its standard output. */
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
      code === 0 ? resolve(output) : reject(new Error(`${args.join(" ")} exited with ${code}`)),
    )
    child.stdin.end(options.input ?? "")
  })

/** Finds free ports. */
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

/** Resident memory of a process in MiB; `undefined` where the system does not report it. */
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

// Includes ended children: the postmaster outlives the processes of its connections.
export const processorTimeOf = (pid: number | string): number => {
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

/** Total processor time of the measured processes, and of PostgreSQL on this machine, in microseconds. */
export interface ProcessorTime {
  readonly service: number
  readonly database: number
}

/** Reads the total processor time; `undefined` where the system does not report it. Connections that just ended may be missing. */
export const processorTime = (running: ReadonlyArray<Running>, attempts = 3): ProcessorTime | undefined => {
  try {
    const timesOf = (pids: ReadonlyArray<number | string>) =>
      pids.reduce<number>((sum, pid) => sum + processorTimeOf(pid), 0)
    return {
      service: timesOf(running.flatMap(({ process: { pid } }) => (pid === undefined ? [] : [pid]))),
      database: timesOf(readdirSync("/proc").filter(isDatabase)),
    }
  } catch {
    // Or a connection ended between two reads, as those of Citus often do.
    return attempts > 1 ? processorTime(running, attempts - 1) : undefined
  }
}

/** Load average of the machine over the last minute. Above the number of cores, figures are unreliable. */
export const busyness = (): string => {
  try {
    return readFileSync("/proc/loadavg", "utf8").split(" ")[0] ?? "?"
  } catch {
    return "?"
  }
}
