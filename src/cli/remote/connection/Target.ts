/** Runs a command against the service that its flags and the environment choose. */
import { Effect, Option } from "effect"
import { json } from "../Output.ts"
import { targetOf } from "./Profiles.ts"
import { RequestFailed, Service } from "./Service.ts"

/** Provides the service to a command. With `--json`, a problem is printed as the document that the service returned. */
export const asking = Effect.fnUntraced(function* <A, E, R>(
  flags: { readonly profile: Option.Option<string>; readonly json: boolean },
  command: Effect.Effect<A, E | RequestFailed, R>,
) {
  const target = yield* targetOf(flags.profile)
  return yield* command.pipe(
    Effect.provide(Service.layer(target)),
    Effect.mapError((error) =>
      flags.json && error instanceof RequestFailed && error.body !== undefined
        ? new RequestFailed({
            message: json(error.body),
            exitCode: error.exitCode,
            body: error.body,
          })
        : error,
    ),
  )
})
