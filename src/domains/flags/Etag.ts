/** Entity tags of answers (RFC 9110, sections 8.8.3 and 13.1.2). Pure. */
import { createHash } from "node:crypto"

/** The tag of a body: the same body has the same tag on every node. */
export const etagOf = (body: string): string => `"${createHash("sha256").update(body).digest("base64url")}"`

// Weak comparison, and tags without quotes too: OFREP's own examples have none.
const opaque = (tag: string): string => tag.trim().replace(/^W\//, "").replaceAll('"', "")

/** Whether the caller's `If-None-Match` names this tag: what is at hand there is fresh. */
export const isFresh = (etag: string, ifNoneMatch: string | undefined): boolean =>
  ifNoneMatch !== undefined && ifNoneMatch.split(",").some((tag) => tag.trim() === "*" || opaque(tag) === opaque(etag))
