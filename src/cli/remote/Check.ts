/** `keyshelf check`: what an instance may use, and why. */
import { Console, Effect, Option, Runtime, Schema } from "effect"
import { Argument, CliError, Command, Flag } from "effect/cli"
import { CommandFailed } from "../Failure.ts"
import { EXIT_CODES } from "./connection/ExitCodes.ts"
import { common, idempotencyKey, instantFlag, pathArgument } from "./Flags.ts"
import { json, listText } from "./Output.ts"
import { Service } from "./connection/Service.ts"
import { asking } from "./connection/Target.ts"

/** At least one entitlement is not allowed. The answers are printed already. */
class NotAllowed extends Schema.TaggedError<NotAllowed>()("NotAllowed", { message: Schema.String }) {
  override get [Runtime.errorExitCode]() {
    return EXIT_CODES.notAllowed
  }
}

/** The part of the response that is printed as text. */
const Checked = Schema.Struct({
  license: Schema.String,
  at: Schema.String,
  graceEndsAt: Schema.optionalKey(Schema.NullOr(Schema.String)),
  checks: Schema.Array(
    Schema.StructWithRest(
      Schema.Struct({
        entitlement: Schema.String,
        allowed: Schema.Boolean,
        explanation: Schema.Struct({ text: Schema.String }),
      }),
      [Schema.Record(Schema.String, Schema.Unknown)],
    ),
  ),
})

/** Reads `seats` or `seats=5`. */
const checkOf = Effect.fnUntraced(function* (text: string) {
  const [, entitlement = text, amount] = /^(.*)=(.*)$/s.exec(text) ?? []
  if (amount === undefined) return { entitlement }
  const requested = Number(amount)
  if (amount.trim() !== "" && Number.isFinite(requested)) return { entitlement, requested }
  return yield* new CliError.InvalidValue({
    option: "entitlement",
    value: text,
    expected: "a slug, or a slug and an amount such as seats=5",
    kind: "argument",
  })
})

const run = Effect.fnUntraced(function* (request: {
  readonly instance: string
  readonly body: Schema.Json
  readonly idempotencyKey: Option.Option<string>
  readonly isJson: boolean
}) {
  const { send } = yield* Service
  const response = yield* send({
    method: "POST",
    path: `/api/instances/${encodeURIComponent(request.instance)}/check`,
    query: {},
    body: Option.some(request.body),
    idempotencyKey: Option.orElseSome(request.idempotencyKey, () => globalThis.crypto.randomUUID()),
  })
  const {
    at,
    checks,
    graceEndsAt = null,
    license,
  } = yield* Schema.decodeUnknownEffect(Checked)(response).pipe(
    Effect.mapError((error) => new CommandFailed({ message: `The response is not that of a check. ${error.message}` })),
  )
  if (request.isJson) {
    yield* Console.log(json(response))
  } else {
    yield* Console.log(listText(["entitlement", "allowed", "reason", "limit", "usage", "remaining"], checks))
    const grace = graceEndsAt === null ? "" : `, in grace until ${graceEndsAt}`
    yield* Console.log(`\nLicense ${license}, at ${at}${grace}`)
    for (const { entitlement, explanation } of checks) yield* Console.log(`${entitlement}: ${explanation.text}`)
  }
  const refused = checks.filter(({ allowed }) => !allowed)
  if (refused.length > 0) {
    return yield* new NotAllowed({
      message: `Not allowed: ${refused.map(({ entitlement }) => entitlement).join(", ")}`,
    })
  }
})

export const checkCommand = Command.make(
  "check",
  {
    ...common,
    instance: pathArgument("instance-slug", "Slug of the instance"),
    checks: Argument.String("entitlement").pipe(
      Argument.mapEffect(checkOf),
      Argument.withDescription("Slug of an entitlement, with an amount if needed: seats=5"),
      Argument.between(1, 100),
    ),
    consume: Flag.Boolean("consume").pipe(
      Flag.withDescription("Use the amounts if all of them are allowed; otherwise nothing is used"),
      Flag.withDefault(false),
    ),
    at: instantFlag("at", true).pipe(
      Flag.withDescription("The instant of the check; also how long ago, such as 24h; default: now"),
      Flag.optional,
    ),
    idempotencyKey,
  },
  Effect.fn(function* ({ at, checks, consume, idempotencyKey, instance, json: isJson, profile }) {
    const body = {
      checks,
      explain: true,
      ...(consume ? { consume } : {}),
      ...Option.match(at, { onNone: () => ({}), onSome: (instant) => ({ at: instant }) }),
    }
    yield* asking({ profile, json: isJson }, run({ instance, body, idempotencyKey, isJson }), "/api")
  }),
).pipe(
  Command.withDescription(
    "Check what an instance may use, with an explanation. Exits with 3 if at least one entitlement is not allowed.",
  ),
  Command.withShortDescription("Check what an instance may use, and why"),
  Command.withExamples([
    { command: "keyshelf check globex-production single-sign-on" },
    { command: "keyshelf check globex-production seats=5 --consume" },
  ]),
)
