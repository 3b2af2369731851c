/** The file with the tokens and license keys whose callers an edge serves. */
import { Effect, Redacted } from "effect"
import { readFile, stat } from "node:fs/promises"
import { reason } from "../../infra/embedded/Errors.ts"
import { EdgeFailed } from "../Failure.ts"

/** What others than the owner may do with a file. */
const OTHERS = 0o077

const TOKEN = /^[\x21-\x7e]+$/

const failed = (path: string, why: string) => new EdgeFailed({ message: `The file of tokens ${path} ${why}.` })

const requireOwnerOnly = (path: string, mode: number) =>
  process.platform !== "win32" && (mode & OTHERS) !== 0
    ? failed(path, `can be read by others than its owner. Run \`chmod 600 ${path}\``)
    : Effect.void

const attempt = <A>(path: string, read: () => Promise<A>) =>
  Effect.tryPromise({ try: read, catch: (cause) => failed(path, `cannot be read: ${reason(cause)}`) })

/** Reads the tokens of a file, one a line. Empty lines, and those that begin with `#`, do not count. No message has a token. */
export const readTokens = Effect.fn("Edge.readTokens")(function* (path: string) {
  const { mode } = yield* attempt(path, () => stat(path))
  yield* requireOwnerOnly(path, mode)
  const lines = (yield* attempt(path, () => readFile(path, "utf8"))).split(/\r?\n/).map((line) => line.trim())
  const wrong = lines.findIndex((line) => line !== "" && !line.startsWith("#") && !TOKEN.test(line))
  if (wrong !== -1) return yield* failed(path, `has no token in line ${wrong + 1}: a token is one word of ASCII`)
  const tokens = [...new Set(lines.filter((line) => line !== "" && !line.startsWith("#")))]
  if (tokens.length === 0) return yield* failed(path, "has no token. Write one token or license key a line")
  return tokens.map((token) => Redacted.make(token))
})
