import { Effect, Schema } from "effect"

/** The embedded database cannot run. The message says why and what to do. */
export class EmbeddedPostgresError extends Schema.TaggedError<EmbeddedPostgresError>()("EmbeddedPostgresError", {
  message: Schema.String,
}) {}

/** Advice that always works; ends the messages about what this machine cannot do. */
export const externalHint = "set SERVICE_DATABASE_URL to use your own PostgreSQL server"

/** Returns the message of a thrown value. */
export const reason = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** Returns the system error code of a thrown value (`ENOENT`, ...), if it has one. */
export const errorCode = (cause: unknown): string | undefined =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined

/** Runs file system work. Turns a thrown error into an `EmbeddedPostgresError` whose message starts with `what`. */
export const attempt = <A>(what: string, run: () => A | Promise<A>): Effect.Effect<A, EmbeddedPostgresError> =>
  Effect.tryPromise({
    try: async () => run(),
    catch: (cause) => new EmbeddedPostgresError({ message: `${what}: ${reason(cause)}.` }),
  })
