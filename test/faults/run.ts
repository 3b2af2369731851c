/**
 * `npm run faults`: breaks the delivery of webhooks in every way that we know of, with real processes on a database of its
 * own, and judges what came of it. Ends with 1 if an invariant does not hold.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, Exit, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { randomInt } from "node:crypto"
import { join } from "node:path"
import * as EmbeddedPostgres from "../../src/infra/embedded/EmbeddedPostgres.ts"
import { temporaryDirectory } from "../support/ServiceProcess.ts"
import { faults, play, told } from "./support/Campaign.ts"
import type { Fault } from "./support/Campaign.ts"

const names = Object.keys(faults) as ReadonlyArray<Fault>

const campaign = Command.make(
  "faults",
  {
    seed: Flag.Int("seed").pipe(
      Flag.withDescription("Repeats the choices of a campaign; without it they are new ones"),
      Flag.optional,
    ),
    seconds: Flag.Int("seconds").pipe(
      Flag.withDescription("How long each fault under load lasts"),
      Flag.withDefault(120),
    ),
    only: Flag.String("only").pipe(Flag.withDescription(`Comma list of ${names.join(", ")}`), Flag.optional),
    lease: Flag.Int("lease").pipe(
      Flag.withDescription("Seconds of a lease, instead of 60; an exchange then has 20 s less, instead of 30 s"),
      Flag.optional,
    ),
    owed: Flag.Int("owed").pipe(
      Flag.withDescription("Deliveries that the hanging endpoint is owed in `fairness`"),
      Flag.withDefault(100_000),
    ),
  },
  Effect.fn(function* ({ lease, only, owed, seconds, seed: given }) {
    const seed = Option.getOrElse(given, () => randomInt(1_000_000))
    const chosen = Option.match(only, { onNone: () => names, onSome: (text) => text.split(",") })
    const unknown = chosen.filter((name) => !(names as ReadonlyArray<string>).includes(name))
    if (unknown.length > 0) {
      yield* Console.error(`There is no fault ${unknown.join(", ")}: choose among ${names.join(", ")}`)
      process.exitCode = 1
      return
    }
    yield* Console.log(`Seed ${seed}: npm run faults -- --seed ${seed} --seconds ${seconds} repeats this campaign.`)
    const directory = yield* temporaryDirectory
    // As safe as an operator's: a crash of the server must not take what it has committed.
    const database = yield* EmbeddedPostgres.run({ dataDir: join(directory, "postgres"), whenRunning: "refuse" })
    const plan = {
      server: { url: Redacted.value(database.url), dataDir: database.dataDir },
      seed,
      seconds,
      owed,
      limits: Option.match(lease, {
        onNone: () => ({}),
        onSome: (seconds) => ({ lease: seconds * 1000, timeout: (seconds - 20) * 1000 }),
      }),
    }
    let broken = 0
    for (const fault of names.filter((name) => chosen.includes(name))) {
      const began = performance.now()
      const exit = yield* Effect.exit(play(fault, plan))
      if (Exit.isFailure(exit) || exit.value.violations.length > 0) broken++
      for (const line of told(fault, performance.now() - began, exit)) yield* Console.log(line)
    }
    yield* Console.log(broken === 0 ? "All invariants hold." : `${broken} faults broke an invariant (seed ${seed}).`)
    if (broken > 0) process.exitCode = 1
  }, Effect.scoped),
)

campaign.pipe(Command.run({ version: "0.1.0" }), Effect.provide(NodeServices.layer), NodeRuntime.runMain)
