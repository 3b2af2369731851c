/** Readiness: whether this process can serve, and which part fails if not. Liveness needs no part at all. */
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"

const LIMIT = "2 seconds"

/** `GET /health/ready`: 200 while the database answers, else 503. */
export const readiness = HttpRouter.add(
  "GET",
  "/health/ready",
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const answers = yield* sql`SELECT 1`.pipe(
      Effect.timeout(LIMIT),
      Effect.as(true),
      Effect.catch(() => Effect.succeed(false)),
    )
    return answers
      ? HttpServerResponse.jsonUnsafe({ status: "ready", parts: { database: "up" } })
      : HttpServerResponse.empty({ status: 503 })
  }),
)
