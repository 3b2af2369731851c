/** `keyshelf offline verify`: verifies an offline bundle by files alone, without the service, its database or its settings. */
import { Console, Effect, Option, Predicate, Runtime, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { now } from "../kernel/values/Timestamp.ts"
import { verifyBundle } from "../offline/index.ts"
import type { BundleAnswer, Claims, PinnedKeys } from "../offline/index.ts"
import { CommandFailed } from "./Failure.ts"
import { fileInput, inputOf, readText } from "./input/Input.ts"
import { EXIT_CODES } from "./remote/connection/ExitCodes.ts"
import { instantFlag } from "./remote/Flags.ts"
import { json, listText, recordText } from "./remote/Output.ts"

/** The bundle is not valid. What is known of it is printed already. */
class BundleNotValid extends Schema.TaggedError<BundleNotValid>()("BundleNotValid", { message: Schema.String }) {
  override readonly [Runtime.errorExitCode] = EXIT_CODES.notAllowed
}

const isKeySet = (value: unknown): value is Extract<PinnedKeys, { readonly keys: unknown }> =>
  Predicate.hasProperty(value, "keys") && Array.isArray(value.keys)

const readKeys = Effect.fnUntraced(function* (path: string) {
  const text = yield* readText("The key set", fileInput(path))
  const noKeys = new CommandFailed({
    message: `${path} is not a key set. Save the JSON of GET /api/offline/{organizationId}/keys.`,
  })
  const keys = yield* Effect.try({ try: (): unknown => JSON.parse(text), catch: () => noKeys })
  return isKeySet(keys) ? keys : yield* noKeys
})

/** A time of the command line, which accepts more formats than the times of a bundle. */
const dateOf = Effect.fnUntraced(function* (text: string) {
  const date = new Date(text)
  return Number.isNaN(date.getTime()) ? yield* new CommandFailed({ message: `${text} is no time.` }) : date
})

const isoOf = (seconds: number): string => {
  const date = new Date(seconds * 1000)
  return Number.isFinite(date.getTime()) ? date.toISOString() : String(seconds)
}

const COLUMNS = ["slug", "type", "limit", "overagePercent", "used", "usedFrom", "period", "allowance", "value"]

const claimsText = (claims: Claims): string => {
  const { customer, entitlements, exp, iat, instance, nbf, periods, renew, usage, v: _version, ...others } = claims
  const rest = { instance: instance.slug, customer: customer.slug, ...others }
  const times = { iat: isoOf(iat), nbf: isoOf(nbf), renew: isoOf(renew), exp: isoOf(exp) }
  const record = recordText({ ...rest, ...times, usageUntil: isoOf(usage.until), periods: Object.keys(periods) })
  const granted = entitlements.map((entitlement): Readonly<Record<string, unknown>> => ({ ...entitlement }))
  const columns = COLUMNS.filter((column) => granted.some((entitlement) => Object.hasOwn(entitlement, column)))
  return granted.length === 0 ? record : `${record}\n\n${listText(columns, granted)}`
}

const print = Effect.fnUntraced(function* (answer: BundleAnswer, isJson: boolean) {
  const { renewDue, status } = answer
  const claims = answer.claims ?? answer.rejected
  if (isJson) return yield* Console.log(json({ status, renewDue, claims }))
  yield* Console.log(recordText({ status, renewDue }))
  if (claims !== null) yield* Console.log(`\n${claimsText(claims)}`)
})

interface Verification {
  readonly file: string
  readonly keys: string
  readonly instance: Option.Option<string>
  readonly at: Option.Option<string>
  readonly revocations: Option.Option<string>
  readonly fingerprints: ReadonlyArray<string>
}

const verify = Effect.fnUntraced(function* (given: Verification) {
  const keys = yield* readKeys(given.keys)
  const token = yield* readText("The bundle", inputOf(given.file))
  const revocations = Option.isSome(given.revocations)
    ? yield* readText("The revocation list", fileInput(given.revocations.value))
    : undefined
  const options = {
    keys,
    instance: Option.getOrUndefined(given.instance),
    now: Option.isSome(given.at) ? yield* dateOf(given.at.value) : yield* now,
    revocations,
    fingerprints: given.fingerprints,
  }
  // Keys belong to one organization. So the issuer is the organization of the bundle, if one of these keys signed it.
  const signed = yield* Effect.promise(() => verifyBundle(token, { ...options, issuer: "" }))
  return yield* Effect.promise(() => verifyBundle(token, { ...options, issuer: signed.rejected?.iss ?? "" }))
})

const verifyCommand = Command.make(
  "verify",
  {
    file: Argument.String("file").pipe(Argument.withDescription("File of the bundle, or - for standard input")),
    keys: Flag.String("keys").pipe(
      Flag.withDescription("File of the organization's key set, as GET /api/offline/{organizationId}/keys returns it"),
      Flag.withMetavar("file"),
    ),
    instance: Flag.String("instance").pipe(
      Flag.withDescription("Id or slug of the instance that the bundle must be of"),
      Flag.optional,
    ),
    at: instantFlag("at", true).pipe(
      Flag.withDescription("The instant of the verification; also how long ago, such as 24h; default: now"),
      Flag.optional,
    ),
    revocations: Flag.String("revocations").pipe(
      Flag.withDescription("File of the revocation list, as GET /api/offline/{organizationId}/revocations returns it"),
      Flag.withMetavar("file"),
      Flag.optional,
    ),
    fingerprints: Flag.String("fingerprint").pipe(
      Flag.withDescription("Fingerprint of the machine, for a bundle that is bound to one; can be repeated"),
      Flag.between(0, 100),
    ),
    json: Flag.Boolean("json").pipe(Flag.withDescription("Print JSON"), Flag.withDefault(false)),
  },
  Effect.fn(function* ({ json: isJson, ...given }) {
    const answer = yield* verify(given)
    yield* print(answer, isJson)
    if (answer.status !== "VALID") {
      return yield* new BundleNotValid({ message: `The bundle is not valid: ${answer.status}` })
    }
  }),
).pipe(
  Command.withDescription(
    "Verify an offline bundle by files alone: no database, no settings, no network. Prints its status and its claims. Exits with 3 if the bundle is not valid.",
  ),
  Command.withShortDescription("Verify an offline bundle by files alone"),
  Command.withExamples([
    { command: "keyshelf offline verify bundle.txt --keys keys.json --instance globex-production" },
    { command: "keyshelf offline verify - --keys keys.json --revocations revocations.txt < bundle.txt" },
  ]),
)

export const offlineCommand = Command.make("offline").pipe(
  Command.withDescription("Work with offline bundles, without a service"),
  Command.withSubcommands([verifyCommand]),
)
