/** Serves `/.well-known/security.txt` (RFC 9116): where people report a weakness of this installation to its operator. */
import { Context, DateTime, Effect, Layer } from "effect"
import { HttpRouter } from "effect/http"
import * as MethodNotAllowed from "../middleware/MethodNotAllowed.ts"
import * as Asset from "./Asset.ts"

/** The operator's contact. Absent: the path is unknown. */
export const SecurityContact = Context.Reference<string | undefined>("keyshelf.reference/http/SecurityContact", {
  defaultValue: () => undefined,
})

const PATH = "/.well-known/security.txt"

// Short, because a stale contact misleads, and the text is made again anyway.
const VALID_DAYS = 30

/** The text as of a time. It changes once per day, so that its entity tag is the same for a day. */
const textOf = (contact: string, now: DateTime.Utc): string => {
  const expires = DateTime.add(DateTime.startOf(now, "day"), { days: VALID_DAYS + 1 })
  return `Contact: ${contact}\nExpires: ${DateTime.formatIso(expires)}\n`
}

const routes = (contact: string) =>
  Layer.merge(
    MethodNotAllowed.readOnly(PATH),
    HttpRouter.add(
      "GET",
      PATH,
      Effect.flatMap(DateTime.now, (now) =>
        Asset.respond(Asset.make(textOf(contact, now), "text/plain; charset=utf-8")),
      ),
    ),
  )

/** The route for {@link SecurityContact}. */
export const layer = Layer.unwrap(
  Effect.map(SecurityContact, (contact) => (contact === undefined ? Layer.empty : routes(contact))),
)
