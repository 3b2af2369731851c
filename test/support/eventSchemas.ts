/** Validates the events of a database against the documented payloads (contract, part 2, section 10, "OpenAPI"). */
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { validatorOf } from "./schemas.ts"
import type { Schema, SchemaDocument } from "./schemas.ts"

// Some tests emit many thousands of the same kind.
const MAX_PER_TYPE = 2_000
const MAX_ERRORS = 5

interface WebhookDocument extends SchemaDocument {
  readonly webhooks: Readonly<Record<string, { readonly post: Schema }>>
}

/** A validator of events. It returns the errors of one. */
export const eventValidator = () => {
  const document: WebhookDocument = JSON.parse(
    readFileSync(new URL("../../openapi/webhooks.json", import.meta.url), "utf8"),
  )
  const validate = validatorOf(document)
  return (event: { readonly type: string }): ReadonlyArray<string> => {
    const webhook = document.webhooks[event.type]
    return webhook === undefined
      ? [`${event.type} is not documented`]
      : validate(webhook.post.requestBody.content["application/json"].schema, event).map(
          (error) => `${event.type} ${error}`,
        )
  }
}

let areInventedAllowed = false

/** Exempts the events of this test file: it invents what no service emits. */
export const allowInventedEvents = (): void => {
  areInventedAllowed = true
}

/** Returns the errors of the events in the database, at most a few. */
export const findInvalidEvents = Effect.gen(function* () {
  if (areInventedAllowed) return []
  const sql = yield* PgClient.PgClient
  const rows = yield* sql<{ event: string }>`
    SELECT json_build_object(
      'id', id, 'type', type, 'organizationId', organization_id, 'actor', actor, 'data', data,
      'timestamp', to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    )::text AS event
    FROM (SELECT *, row_number() OVER (PARTITION BY type) AS number FROM events) AS numbered
    WHERE number <= ${MAX_PER_TYPE}`
  if (rows.length === 0) return []
  const errorsOf = eventValidator()
  return [...new Set(rows.flatMap(({ event }) => errorsOf(JSON.parse(event))))].slice(0, MAX_ERRORS)
})
