/**
 * `keyshelf try`: the service on an embedded database of its own, with an organization to look at. The first start furnishes it, later ones
 * find it by a file in the data directory.
 */
import { Console, Effect, FileSystem, Layer, Option, Path, Redacted, Schema } from "effect"
import { Command } from "effect/cli"
import { serving } from "../app/Process.ts"
import type { FirstCredential } from "../app/Process.ts"
import { as, Stage } from "../demo/Demo.ts"
import { furnish } from "../demo/Furnish.ts"
import type { Furnished } from "../demo/Furnish.ts"
import { reportPastUsage } from "../demo/PastUsage.ts"
import { allScopes, PlatformCredentials } from "../domains/access/PlatformCredentials.ts"
import { commandLine } from "../infra/PackageFiles.ts"
import { reachableHost } from "../infra/HostUrl.ts"
import { Settings } from "../infra/Settings.ts"
import { CommandFailed } from "./Failure.ts"

const ENTITLEMENT = "api-calls"

/** What is left of the first start. Only the user who owns the database and its secret key can read the file. */
const Tour = Schema.Struct({
  token: Schema.RedactedFromValue(Schema.String),
  instance: Schema.String,
  /** An amount that the license of the instance does not allow, whatever it has used. */
  tooMuch: Schema.Finite,
})
type Tour = typeof Tour.Type

const TourText = Schema.fromJsonString(Tour)

const fileOfTour = Effect.gen(function* () {
  const { dataDir } = yield* Settings
  return (yield* Path.Path).resolve(dataDir, "try.json")
})

const readTour = Effect.gen(function* () {
  const files = yield* FileSystem.FileSystem
  const file = yield* fileOfTour
  if (!(yield* files.exists(file))) return undefined
  return yield* Schema.decodeUnknownEffect(TourText)(yield* files.readFileString(file))
}).pipe(
  Effect.mapError(
    (error) => new CommandFailed({ message: `The file of the first start cannot be read: ${error.message}` }),
  ),
)

const writeTour = Effect.fnUntraced(
  function* (tour: Tour) {
    const files = yield* FileSystem.FileSystem
    const file = yield* fileOfTour
    // Whole or not at all: a start that is interrupted here furnishes another organization.
    yield* files.writeFileString(`${file}.part`, yield* Schema.encodeEffect(TourText)(tour), { mode: 0o600 })
    yield* files.rename(`${file}.part`, file)
  },
  Effect.mapError((error) => new CommandFailed({ message: `The first start cannot be stored: ${error.message}` })),
)

/** Ten times the limit of an instance is above it and its overage. */
const tourOf = ({ instances, token }: Furnished): Effect.Effect<Tour, CommandFailed> => {
  for (const { slug, version } of instances) {
    const limit = version.grants[ENTITLEMENT]
    if (typeof limit === "number" && limit > 0) return Effect.succeed({ token, instance: slug, tooMuch: 10 * limit })
  }
  return Effect.fail(new CommandFailed({ message: `No instance of the demo has a limit of ${ENTITLEMENT}.` }))
}

/** Furnishes an organization, with a credential of its own if the first one is not known any longer. */
const firstTour = Effect.fnUntraced(function* (credential: FirstCredential) {
  const credentials = yield* PlatformCredentials
  const operator = Redacted.isRedacted(credential)
    ? credential
    : (yield* credentials.createLocally({ name: "try", scopes: allScopes })).token
  const furnished = yield* furnish(operator)
  yield* reportPastUsage(furnished)
  yield* Console.log("  the usage of a year")
  const tour = yield* tourOf(furnished)
  yield* writeTour(tour)
  return tour
})

const Answer = Schema.Struct({
  checks: Schema.Array(
    Schema.Struct({
      allowed: Schema.Boolean,
      reason: Schema.String,
      usage: Schema.NullOr(Schema.Finite),
      limit: Schema.NullOr(Schema.Finite),
    }),
  ),
})

/** Makes the check now, so that its answer is the service's. */
const deniedCheck = Effect.fnUntraced(function* ({ instance, token, tooMuch }: Tour) {
  const { expectSuccess } = yield* Stage
  const body = { checks: [{ entitlement: ENTITLEMENT, requested: tooMuch }] }
  const { checks } = yield* expectSuccess(as(token)("POST", `/instances/${instance}/check`, body), 200, Answer)
  const [result] = checks
  const answer = result?.allowed === true ? "allowed" : "denied"
  return `${instance} asks for ${tooMuch} ${ENTITLEMENT}: ${answer}, ${result?.reason} (${result?.usage} of ${result?.limit} used)`
})

const show = Effect.fnUntraced(function* (credential: FirstCredential) {
  const { corePort, dataDir, host, platformPort, webhooksPort } = yield* Settings
  const at = (port: number) => `http://${reachableHost(host)}:${port}`
  const core = at(corePort)
  const origins = { core, platform: at(platformPort), webhooks: at(Option.getOrElse(webhooksPort, () => corePort)) }
  yield* Effect.gen(function* () {
    const tour = (yield* readTour) ?? (yield* firstTour(credential))
    const folder = (yield* Path.Path).resolve(dataDir)
    yield* Console.log(
      [
        "",
        `  Console  ${core}/console`,
        `  Token    ${Redacted.value(tour.token)} (paste it there)`,
        `  Check    ${yield* deniedCheck(tour)}`,
        `  Stop     Ctrl-C. ${commandLine("try")} starts again with the same data, which is in ${folder}`,
        "",
      ].join("\n"),
    )
  }).pipe(Effect.provide(Stage.quiet(origins)))
})

const refuseDatabase = Effect.gen(function* () {
  const { databaseUrl } = yield* Settings
  if (Option.isNone(databaseUrl)) return
  return yield* new CommandFailed({
    message: `This command uses an embedded database of its own, but SERVICE_DATABASE_URL is set. Unset it, or run ${commandLine("serve")} and ${commandLine("demo --keep")}.`,
  })
}).pipe(Effect.provide(Layer.fresh(Settings.layer)))

export const tryCommand = Command.make("try", {}, () => Effect.andThen(refuseDatabase, serving(show))).pipe(
  Command.withDescription(
    "Run the service on an embedded database in ./.data, with an organization to look at. Prints the console, a token for it, and a check that is denied. A second start uses the same data.",
  ),
  Command.withShortDescription("Try the service, with data to look at"),
)
