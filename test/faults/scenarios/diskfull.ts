/** Fault: a full disk. The database is on a small disk that another file fills. */
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { chownSync, closeSync, mkdirSync, openSync, rmSync, statSync, writeSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { temporaryDirectory } from "../../support/temporaryDirectory.ts"
import type { Violation } from "../support/Checker.ts"
import { clock, open, until } from "../support/Installation.ts"
import type { Server } from "../support/Installation.ts"
import { between, misbehaviour, probe, summarize } from "../support/Probe.ts"
import { conclude, leaseOf, fixtureOn } from "../support/World.ts"
import type { ScenarioOptions, Verdict } from "../support/World.ts"

const SIZE = "64m"
const FULL_MILLIS = 10_000
const MAX_RESPONSE_MILLIS = 15_000
const MAX_RECOVERY_MILLIS = 10_000

const run = promisify(execFile)

/** Mounts a small disk for the server; returns `undefined` if this system does not allow it. */
const smallDisk = Effect.fnUntraced(function* (dataDir: string) {
  const parent = yield* temporaryDirectory
  const directory = join(parent, "disk")
  mkdirSync(directory)
  if (process.platform !== "linux" || process.getuid?.() !== 0) return undefined
  const isMounted = yield* Effect.acquireRelease(
    Effect.promise(() =>
      run("mount", ["-t", "tmpfs", "-o", `size=${SIZE}`, "tmpfs", directory]).then(
        () => true,
        () => false,
      ),
    ),
    (mounted) => (mounted ? Effect.promise(() => run("umount", ["--lazy", directory])) : Effect.void),
  )
  if (!isMounted) return undefined
  const { gid, uid } = statSync(dataDir)
  const tablespace = join(directory, "tablespace")
  mkdirSync(tablespace, { mode: 0o700 })
  chownSync(tablespace, uid, gid)
  return { ballast: join(directory, "ballast"), tablespace }
})

const fill = (path: string): number => {
  const file = openSync(path, "w")
  const block = Buffer.alloc(8_192, 1)
  let bytes = 0
  try {
    for (;;) bytes += writeSync(file, block)
  } catch {
    return bytes
  } finally {
    closeSync(file)
  }
}

/** Fills the tables' disk under load, and frees it again. PostgreSQL's WAL is on another disk. */
export const diskfull = Effect.fnUntraced(function* (setting: ScenarioOptions) {
  const skipped = (why: string): Verdict => ({ figures: { skipped: why }, violations: [] })
  const { dataDir } = setting.server
  if (dataDir === undefined) return skipped("this fault needs a dedicated server")
  const disk = yield* smallDisk(dataDir)
  if (disk === undefined) return skipped("only root on Linux can mount a small disk")
  const server: Server = { ...setting.server, tablespace: disk.tablespace }
  const installation = yield* open(server, setting.limits)
  const fixture = yield* fixtureOn(installation, setting)
  const { nodes, receiver, tenants } = fixture
  const [one] = nodes
  const token = tenants[0]?.token ?? ""
  const load = yield* fixture.begin
  const writes = yield* probe(
    (number) => ["POST", `${one.core}/api/customers`, token, { name: `full-${number}`.padEnd(200, "x") }],
    20,
  )
  const reads = yield* probe(() => ["GET", `${one.core}/api/customers?limit=1`, token], 50)
  yield* Effect.sleep(3_000)
  const bytes = fill(disk.ballast)
  const filled = clock()
  yield* until("a write is rejected", () => writes.responses.some(({ status }) => status === 503), 30_000)
  const from = clock()
  const before = receiver.arrivals.length
  yield* Effect.sleep(FULL_MILLIS)
  const sentWhileFull = receiver.arrivals.length - before
  const to = clock()
  rmSync(disk.ballast)
  yield* until(
    "a write succeeds again",
    () => writes.responses.some(({ at, status }) => at > to && status === 201),
    30_000,
  )
  const recovery = Math.round(
    (writes.responses.find(({ at, status }) => at > to && status === 201)?.at ?? Infinity) - to,
  )
  yield* Effect.sleep(1_000)
  yield* reads.stop
  yield* writes.stop
  const { verdict } = yield* conclude(fixture, load, leaseOf(setting) + 15_000)
  const readsWhileFull = between(reads, filled, to)
  const bounds: Array<Violation> = [
    ...misbehaviour("a write to a full disk", writes.responses, MAX_RESPONSE_MILLIS),
    ...misbehaviour("a read from a full disk", readsWhileFull, MAX_RESPONSE_MILLIS),
    ...readsWhileFull
      .filter(({ status }) => status === 503)
      .map(() => ({ invariant: "I10", detail: "a read got 503" }) as const),
  ]
  if (recovery > MAX_RECOVERY_MILLIS)
    bounds.push({ invariant: "I10", detail: `a write succeeded only after ${recovery} ms` })
  const result: Verdict = {
    figures: {
      "filled with MiB": Math.round(bytes / 1024 ** 2),
      "writes while full": summarize(between(writes, from, to)),
      "reads while full": summarize(readsWhileFull),
      "sent while full": sentWhileFull,
      "recovered after ms": recovery,
      ...verdict.figures,
    },
    violations: [...bounds, ...verdict.violations],
  }
  return result
})
