/** Runs a command against the service that its flags and the environment choose. */
import { Effect, Predicate, Redacted } from "effect"
import type { Option } from "effect"
import { prefixes } from "../../../domains/access/Model.ts"
import { json } from "../Output.ts"
import { EXIT_CODES } from "./ExitCodes.ts"
import { targetOf } from "./Profiles.ts"
import { RequestFailed, Service } from "./Service.ts"

const HINTED: ReadonlyArray<number> = [EXIT_CODES.notFound, EXIT_CODES.unauthorized]

const PLATFORM = "/api/platform"

/**
 * The hint for a credential of the wrong kind: tokens of organizations and of the operator call different operations.
 */
const wrongKind = (isOperator: boolean, path: string | undefined): string | undefined => {
  if (path === undefined || path.startsWith(PLATFORM) === isOperator) return undefined
  return isOperator
    ? "This command needs a token of an organization (ksh_), and the URL of the Core API. The credential is one of the platform (ksm_)."
    : "This command needs a platform credential (ksm_), and the URL of the Platform API. The credential is a token of an organization."
}

const withHint = (error: RequestFailed, hint: string): RequestFailed => {
  const { body, exitCode, message } = error
  const isProblem = Predicate.isObject(body) && Predicate.hasProperty(body, "detail")
  const hinted = isProblem ? { ...body, detail: `${String(body.detail)} ${hint}` } : body
  return new RequestFailed({
    message: `${message}\n${hint}`,
    exitCode,
    ...(hinted === undefined ? {} : { body: hinted }),
  })
}

/** Provides the service to a command. With `--json`, a problem is printed as the document that the service returned. */
export const asking = Effect.fnUntraced(function* <A, E, R>(
  flags: { readonly profile: Option.Option<string>; readonly json: boolean },
  command: Effect.Effect<A, E | RequestFailed, R>,
  path?: string,
) {
  const target = yield* targetOf(flags.profile)
  const isOperator = Redacted.value(target.token).startsWith(prefixes.platform)
  return yield* command.pipe(
    Effect.provide(Service.layer(target)),
    Effect.mapError((error) => {
      const hint =
        error instanceof RequestFailed && HINTED.includes(error.exitCode) ? wrongKind(isOperator, path) : undefined
      return error instanceof RequestFailed && hint !== undefined ? withHint(error, hint) : error
    }),
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
