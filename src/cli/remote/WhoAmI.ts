/** `keyshelf whoami`: the identity that the service sees behind a command. */
import { Console, Effect, Option } from "effect"
import { Command } from "effect/cli"
import { common } from "./Flags.ts"
import { json, recordText } from "./Output.ts"
import { Service } from "./connection/Service.ts"
import { asking } from "./connection/Target.ts"

/** Reads the identity behind the credential. A platform credential has another operation than a token. */
export const identity = Effect.gen(function* () {
  const { isOperator, send } = yield* Service
  return yield* send({
    method: "GET",
    path: isOperator ? "/api/platform/me" : "/api/me",
    query: {},
    body: Option.none(),
    idempotencyKey: Option.none(),
  })
})

export const whoAmICommand = Command.make(
  "whoami",
  common,
  Effect.fn(function* (flags) {
    const print = Effect.flatMap(identity, (me) => Console.log(flags.json ? json(me) : recordText(me)))
    yield* asking(flags, print)
  }),
).pipe(Command.withDescription("Show who you are to the service, with your organization and scopes"))
