/** Validates events against the documented payloads (contract, part 2, section 10, "OpenAPI"). */
import { readFileSync } from "node:fs"
import { validatorOf } from "./schemas.ts"
import { isChangeName, isEventName } from "../../src/kernel/contract/Event.ts"
import type { Schema, SchemaDocument } from "./schemas.ts"

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
    const mayLackPrevious = ["INSTANCE_ENTITLEMENT_OVERRIDDEN", "INSTANCE_ADD_ON_SET"].includes(event.type)
    if (isChange !== (event.previous !== undefined) && !mayLackPrevious)
      return [`${event.type} ${isChange ? "lacks" : "has"} previous values`]
    return validate(webhook.post.requestBody.content["application/json"].schema, event).map(
      (error) => `${event.type} ${error}`,
    )
  }
}
