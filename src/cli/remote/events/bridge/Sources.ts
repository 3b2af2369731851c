/** The settings of a bridge that other users of the machine must not read: from the environment, and from files that it names. */
import { Effect, Schema } from "effect"
import { CommandFailed } from "../../../Failure.ts"
import { fileInput, readText } from "../../../input/Input.ts"
import type { Target } from "../../connection/Profiles.ts"
import { originOf, tokenOf, trimmed, variable } from "../../connection/TargetRules.ts"
import { identity } from "../../WhoAmI.ts"

const read = (name: string, file: string) => readText(`The file of ${name}`, fileInput(file))

/** The tokens of a file: one a line, without empty lines and those that begin with `#`. */
export const tokensIn = (text: string): ReadonlyArray<string> =>
  text
    .split(/\r?\n/)
    .map(trimmed)
    .filter((line) => line !== "" && !line.startsWith("#"))

/** The service and a token for each organization. */
export const readTargets = Effect.gen(function* () {
  const url = variable("KEYSHELF_URL")
  const token = variable("KEYSHELF_TOKEN")
  const file = variable("KEYSHELF_TOKENS_FILE")
  if (url === undefined || (token === undefined) === (file === undefined)) {
    return yield* new CommandFailed({
      message:
        "Set KEYSHELF_URL, and either KEYSHELF_TOKEN or KEYSHELF_TOKENS_FILE, a file with one token of each organization per line.",
    })
  }
  const origin = yield* originOf("KEYSHELF_URL", url)
  const tokens = file === undefined ? [token ?? ""] : tokensIn(yield* read("KEYSHELF_TOKENS_FILE", file))
  if (tokens.length === 0) return yield* new CommandFailed({ message: "KEYSHELF_TOKENS_FILE has no token." })
  const nameOf = (index: number) =>
    file === undefined ? "KEYSHELF_TOKEN" : `Token ${index + 1} of KEYSHELF_TOKENS_FILE`
  return yield* Effect.forEach(tokens, (text, index) =>
    Effect.map(tokenOf(nameOf(index), text), (value): Target => ({ url: origin, token: value })),
  )
})

/** How the bridge signs in to NATS: with a credentials file, a token, a user and password, or not at all. */
export const readLogin = Effect.gen(function* () {
  const file = variable("NATS_CREDENTIALS_FILE")
  const [token, user, password] = [variable("NATS_TOKEN"), variable("NATS_USER"), variable("NATS_PASSWORD")]
  return {
    ...(file === undefined
      ? {}
      : { credentials: new TextEncoder().encode(yield* read("NATS_CREDENTIALS_FILE", file)) }),
    ...(token === undefined ? {} : { token }),
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
  }
})

/** The addresses of the NATS servers. */
export const readServers = (): ReadonlyArray<string> => (variable("NATS_URL") ?? "nats://127.0.0.1:4222").split(",")

const Identity = Schema.Struct({ organization: Schema.Struct({ id: Schema.String, slug: Schema.String }) })

/** The organization of the token of a request. */
export const readOrganization = Effect.flatMap(identity, (me) =>
  Schema.decodeUnknownEffect(Identity)(me).pipe(
    Effect.mapBoth({
      onSuccess: ({ organization }) => organization,
      onFailure: () =>
        new CommandFailed({ message: "The bridge needs tokens of organizations (`ksh_`), not of the operator." }),
    }),
  ),
)
