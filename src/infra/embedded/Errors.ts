import { Effect, Schema } from "effect"

/** Why the embedded database cannot run: one clear sentence with what to do about it. */
export class EmbeddedPostgresError extends Schema.TaggedError<EmbeddedPostgresError>()("EmbeddedPostgresError", {
  message: Schema.String,
}) {}

/** The way out that always exists; ends the sentences about what this machine cannot do. */
export const externalHint = "set SERVICE_DATABASE_URL to use a PostgreSQL server of your own"

/** The message of anything thrown. */
export const reason = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** The system's code of a thrown error (`ENOENT`, ...), if it has one. */
export const errorCode = (cause: unknown): string | undefined =>
  cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : undefined

/** Runs file system work; what it throws becomes an `EmbeddedPostgresError` that starts with `what`. */
export const attempt = <A>(what: string, run: () => A | Promise<A>): Effect.Effect<A, EmbeddedPostgresError> =>
  Effect.tryPromise({
    try: async () => run(),
    catch: (cause) => new EmbeddedPostgresError({ message: `${what}: ${reason(cause)}.` }),
  })
