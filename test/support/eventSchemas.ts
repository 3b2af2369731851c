/** Validates the events of a database against the documented payloads (contract, part 2, section 10, "OpenAPI"). */
import { PgClient } from "@effect/sql-pg"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { validatorOf } from "./schemas.ts"
import { isChangeName, isEventName } from "../../src/kernel/contract/Event.ts"
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
  return (event: { readonly type: string; readonly previous?: unknown }): ReadonlyArray<string> => {
    const webhook = document.webhooks[event.type]
    if (webhook === undefined) return [`${event.type} is not documented`]
    const isChange = isEventName(event.type) && isChangeName(event.type)
    // The first override of an entitlement changes no other one.
    const mayLackPrevious = event.type === "INSTANCE_ENTITLEMENT_OVERRIDDEN"
    if (isChange !== (event.previous !== undefined) && !mayLackPrevious)
      return [`${event.type} ${isChange ? "lacks" : "has"} previous values`]
    return validate(webhook.post.requestBody.content["application/json"].schema, event).map(
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
  const rows = yield* sql<{ event: string; previous: string | null }>`
    SELECT previous::text AS previous, json_build_object(
      'id', id, 'type', type, 'organizationId', organization_id, 'actor', actor, 'data', data,
      'timestamp', to_char(occurred_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
    )::text AS event
    FROM (SELECT *, row_number() OVER (PARTITION BY type) AS number FROM events) AS numbered
    WHERE number <= ${MAX_PER_TYPE}`
  if (rows.length === 0) return []
  const errorsOf = eventValidator()
  const errors = rows.flatMap(({ event, previous }) =>
    errorsOf({ ...JSON.parse(event), ...(previous === null ? {} : { previous: JSON.parse(previous) }) }),
  )
  return [...new Set(errors)].slice(0, MAX_ERRORS)
})
