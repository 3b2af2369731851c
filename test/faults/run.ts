/**
 * `npm run faults`: injects all known faults into webhook delivery and usage, with real processes on a dedicated database, and
 * checks the invariants afterwards. Exits with 1 if an invariant is violated.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Exit, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { randomInt } from "node:crypto"
import { join } from "node:path"
import * as EmbeddedPostgres from "../../src/infra/embedded/EmbeddedPostgres.ts"
import { citusCluster, whyNoCitus } from "../support/CitusCluster.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { faults, run, reportLines } from "./support/Campaign.ts"
import type { Fault } from "./support/Campaign.ts"

const names = Object.keys(faults) as ReadonlyArray<Fault>

// They stop or fill a server of their own, which has no Citus.
const NOT_ON_CITUS: ReadonlyArray<Fault> = ["database", "failover", "diskfull"]

// Durable, because a crash of the server must not lose committed data.
const onPostgres = Effect.gen(function* () {
  const directory = yield* temporaryDirectory
  const database = yield* EmbeddedPostgres.run({ dataDir: join(directory, "postgres"), whenRunning: "fail" })
  return { url: Redacted.value(database.url), dataDir: database.dataDir }
})

const onCitus = Effect.gen(function* () {
  if (whyNoCitus !== undefined) return yield* Effect.die(new Error(whyNoCitus))
  const { coordinator, urls } = yield* citusCluster({ durable: true })
  return { url: coordinator.url, cluster: urls }
})

const campaign = Command.make(
  "faults",
  {
    seed: Flag.Int("seed").pipe(
      Flag.withDescription("Seed of the random choices; use the printed seed to repeat a run"),
      Flag.optional,
    ),
    seconds: Flag.Int("seconds").pipe(
      Flag.withDescription("Duration in seconds of each fault under load"),
      Flag.withDefault(120),
    ),
    only: Flag.String("only").pipe(
      Flag.withDescription(`Faults to run, comma-separated: ${names.join(", ")}`),
      Flag.optional,
    ),
    lease: Flag.Int("lease").pipe(
      Flag.withDescription("Lease in seconds instead of 60; the timeout of an exchange is 20 s less, instead of 30 s"),
      Flag.optional,
    ),
    citus: Flag.Boolean("citus").pipe(
      Flag.withDescription("Run on a Citus cluster instead, without database, failover and diskfull"),
      Flag.withDefault(false),
    ),
    backlog: Flag.Int("backlog").pipe(
      Flag.withDescription("Pending deliveries of the hanging endpoint in `fairness`"),
      Flag.withDefault(100_000),
    ),
  },
  Effect.fn(function* ({ backlog, citus, lease, only, seconds, seed: given }) {
    const seed = Option.getOrElse(given, () => randomInt(1_000_000))
    const chosen = Option.match(only, { onNone: () => names, onSome: (text) => text.split(",") })
    const unknown = chosen.filter((name) => !(names as ReadonlyArray<string>).includes(name))
    if (unknown.length > 0) {
      yield* Console.error(`Unknown fault: ${unknown.join(", ")}. Choose from ${names.join(", ")}.`)
      process.exitCode = 1
      return
    }
    yield* Console.log(`Seed ${seed}. To repeat this run: npm run faults -- --seed ${seed} --seconds ${seconds}`)
    const plan = {
      server: yield* citus ? onCitus : onPostgres,
      seed,
      seconds,
      backlog,
      limits: Option.match(lease, {
        onNone: () => ({}),
        onSome: (seconds) => ({ lease: seconds * 1000, timeout: (seconds - 20) * 1000 }),
      }),
    }
    let broken = 0
    const possible = names.filter((name) => !citus || !NOT_ON_CITUS.includes(name))
    for (const fault of possible.filter((name) => chosen.includes(name))) {
      const began = performance.now()
      const exit = yield* Effect.exit(run(fault, plan))
      if (Exit.isFailure(exit) || exit.value.violations.length > 0) broken++
      for (const line of reportLines(fault, performance.now() - began, exit)) yield* Console.log(line)
    }
    yield* Console.log(
      broken === 0
        ? "All invariants hold."
        : `${broken} ${broken === 1 ? "fault" : "faults"} violated an invariant (seed ${seed}).`,
    )
    if (broken > 0) process.exitCode = 1
  }, Effect.scoped),
)

campaign.pipe(Command.run({ version: "0.1.0" }), Effect.provide(NodeServices.layer), NodeRuntime.runMain)
