/** Entity tags of responses (RFC 9110, sections 8.8.3 and 13.1.2). Pure. */
import { createHash } from "node:crypto"

/** Computes the tag of a body. The same body has the same tag on every node. */
export const etagOf = (body: string): string => `"${createHash("sha256").update(body).digest("base64url")}"`

// Compares weakly and accepts tags without quotes, because OFREP's own examples omit them.
const opaque = (tag: string): string => tag.trim().replace(/^W\//, "").replaceAll('"', "")

/** Whether the caller's `If-None-Match` contains this tag, so that the caller's cached copy is current. */
export const matchesEtag = (etag: string, ifNoneMatch: string | undefined): boolean =>
  ifNoneMatch !== undefined && ifNoneMatch.split(",").some((tag) => tag.trim() === "*" || opaque(tag) === opaque(etag))
