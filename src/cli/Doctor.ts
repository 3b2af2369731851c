/** `keyshelf doctor`: checks everything that the service needs, whether it is running or not. It changes nothing. */
import { Console, Context, Effect, Logger } from "effect"
import { Command, Flag } from "effect/cli"
import * as Database from "../infra/database/Database.ts"
import { hasFormerSchema, isMigrated } from "../infra/database/Migrations.ts"
import { Settings } from "../infra/Settings.ts"
import * as ClusterChecks from "./doctor/ClusterChecks.ts"
import * as DatabaseChecks from "./doctor/DatabaseChecks.ts"
import { installation } from "./doctor/InstallationCheck.ts"
import * as KeyChecks from "./doctor/KeyChecks.ts"
import * as MachineChecks from "./doctor/MachineChecks.ts"
import * as PartnerChecks from "./doctor/PartnerChecks.ts"
import { failed, withDefectsAsFindings, formatFinding, ok, worstOf } from "./doctor/Report.ts"
import type { Finding } from "./doctor/Report.ts"
import * as SettingsCheck from "./doctor/SettingsCheck.ts"
import { databaseExists } from "./database/EmbeddedState.ts"
import { CommandFailed } from "./Failure.ts"

/** Whether the report is one JSON document, which is complete only at the end. */
const IsJson = Context.Reference<boolean>("keyshelf.reference/cli/doctor/IsJson", { defaultValue: () => false })

const print = Effect.fnUntraced(function* (findings: ReadonlyArray<Finding>) {
  if (yield* IsJson) return
  yield* Effect.forEach(findings, (finding) => Console.log(formatFinding(finding)))
})

const connected = Effect.gen(function* () {
  const findings: Array<Finding> = []
  const ofTables = [
    ["partitions", DatabaseChecks.partitions],
    ["keys", KeyChecks.keys],
  ] as const
  const hasTables = (yield* isMigrated) && !(yield* hasFormerSchema)
  for (const [part, check] of [
    ["database", DatabaseChecks.server],
    ["database", DatabaseChecks.preparedStatements],
    ["migrations", DatabaseChecks.schema],
    ["citus", ClusterChecks.cluster],
    ["clock", DatabaseChecks.clock],
    ...(hasTables ? ofTables : []),
  ] as const) {
    const found = yield* withDefectsAsFindings(part, check)
    yield* print(found)
    findings.push(...found)
  }
  return findings
}).pipe(Effect.provide(Database.connection("attach")))

const database = Effect.gen(function* () {
  if (yield* databaseExists) {
    return yield* connected.pipe(
      Effect.catch((error) => {
        const finding = failed("database", error.message)
        return Effect.as(print([finding]), [finding])
      }),
    )
  }
  const finding = ok("database", "There is no embedded database yet: the first start creates it")
  return yield* Effect.as(print([finding]), [finding])
})

const examine = Effect.gen(function* () {
  const { findings, settings } = yield* SettingsCheck.check(process.env)
  yield* print(findings)
  if (settings === undefined) return findings
  const all = [...findings]
  const run = Effect.fnUntraced(function* (part: string, check: ReturnType<typeof MachineChecks.ports>) {
    const found = yield* withDefectsAsFindings(part, check)
    yield* print(found)
    all.push(...found)
  })
  yield* run("installation", installation)
  // Ports come before the database, whose check may start the embedded one.
  yield* run("ports", MachineChecks.ports(settings))
  yield* run("files", MachineChecks.openFiles(settings))
  yield* run("directory", MachineChecks.dataDirectory(settings))
  all.push(...(yield* database.pipe(Effect.provideService(Settings, settings))))
  yield* run("identity", PartnerChecks.identityProvider)
  yield* run("redis", PartnerChecks.redis)
  return all
})

export const doctorCommand = Command.make(
  "doctor",
  {
    json: Flag.Boolean("json").pipe(
      Flag.withDescription("Print one JSON document: `result`, and `findings` with `state`, `part` and `text`"),
      Flag.withDefault(false),
    ),
  },
  Effect.fn(function* ({ json }) {
    const findings = yield* examine.pipe(Effect.provideService(IsJson, json))
    const result = worstOf(findings)
    if (json) yield* Console.log(JSON.stringify({ result, findings }, null, 2))
    const count = (state: Finding["state"]) => findings.filter((finding) => finding.state === state).length
    if (result === "FAILED") {
      return yield* new CommandFailed({ message: `${count("FAILED")} of ${findings.length} checks failed.` })
    }
    if (json) return
    yield* Console.log(result === "ok" ? "No problems found." : `Nothing failed. Warnings: ${count("warning")}.`)
  }),
).pipe(
  Command.withDescription(
    "Check settings, files of the installation, ports, open files, data directory, database, migrations, Citus, clock, partitions, keys, identity provider and Redis. Prints one line per finding (ok, warning or FAILED) and what to do about it. Changes nothing, prints no secrets, and can run next to the service. Exits with 1 if a finding is FAILED.",
  ),
  Command.withShortDescription("Check everything that the service needs, and print what to do"),
  // The findings are the output; log lines would only repeat them.
  Command.provide(Logger.layer([])),
)
