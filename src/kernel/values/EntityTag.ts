/** Entity tags of responses (RFC 9110, sections 8.8.3 and 13.1.2). Pure. */
import { createHash } from "node:crypto"

/** Computes the tag of a body. The same body has the same tag on every node. */
export const etagOf = (body: string): string => `"${createHash("sha256").update(body).digest("base64url")}"`

// A tag may contain commas between its quotes.
const MEMBER = /(?:"[^"]*"|[^",])+/g

// Compares weakly and accepts tags without quotes, because OFREP's own examples omit them.
const opaque = (tag: string): string => tag.trim().replace(/^W\//, "").replaceAll('"', "")

// Proxies that compress mark the tags that they pass on: Apache's mod_deflate and mod_brotli, and Jetty.
const MARK = /(?:--?|;)(?:gzip|br|deflate|zstd)$/

/** The tags that the caller's `If-None-Match` names, without quotes and without the marks of proxies. */
export const tagsIn = (ifNoneMatch: string | undefined): ReadonlyArray<string> =>
  (ifNoneMatch?.match(MEMBER) ?? []).map((member) => opaque(member).replace(MARK, ""))

/**
 * Whether the caller's `If-None-Match` names this tag, so that the caller's cached copy is current. The record must exist, because `*` names
 * every tag.
 */
export const matchesEtag = (etag: string, ifNoneMatch: string | undefined): boolean => {
  if (ifNoneMatch === undefined) return false
  const current = opaque(etag)
  return (ifNoneMatch.match(MEMBER) ?? []).some((member) => {
    if (member.trim() === "*") return true
    const sent = opaque(member)
    return sent === current || sent.replace(MARK, "") === current
  })
}
