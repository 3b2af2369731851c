/**
 * Cursors signed with an HMAC over position and listing, so that they cannot be altered or used for another listing.
 */
import { Effect, Layer, Predicate } from "effect"
import { createHmac } from "node:crypto"
import { Cursors, DEFAULT_LIMIT } from "../kernel/contract/Page.ts"
import type { Listing, Position } from "../kernel/contract/Page.ts"
import { InvalidCursor } from "../kernel/contract/Problem.ts"
import { Secrets } from "../kernel/ports/KeyRing.ts"
import { isSameSecret } from "../kernel/values/SecretComparison.ts"

const SEAL_BYTES = 16

const invalidCursor = () =>
  new InvalidCursor({
    detail: "The cursor was not issued for this list with these filters. Start again without a cursor.",
    errors: [{ location: "query.cursor", message: "must be a cursor that this list returned" }],
  })

// Sorts the filters and drops absent ones, so that the signature does not depend on their order.
const filtersOf = (listing: Listing) =>
  Object.entries(listing.filters ?? {})
    .filter(([, value]) => value !== undefined)
    .sort(([left], [right]) => (left < right ? -1 : 1))

const isPosition = (value: unknown): value is Position =>
  Array.isArray(value) && value.every((part) => Predicate.isString(part) || Predicate.isNumber(part))

/** The production implementation of {@link Cursors}. */
export const layer = Layer.effect(
  Cursors,
  Effect.gen(function* () {
    const keys = (yield* Secrets).keysFor("cursor")
    const listingText = (listing: Listing) => JSON.stringify([listing.name, listing.organizationId, filtersOf(listing)])
    const signatureOf = (key: Uint8Array, listing: Listing, body: string) =>
      createHmac("sha256", key).update(listingText(listing)).update("\n").update(body).digest().subarray(0, SEAL_BYTES)

    const seal = (listing: Listing, position: Position): string => {
      const body = JSON.stringify(position)
      return Buffer.concat([signatureOf(keys[0].bytes, listing, body), Buffer.from(body)]).toString("base64url")
    }

    const open = (listing: Listing, cursor: string) =>
      Effect.suspend(() => {
        const bytes = Buffer.from(cursor, "base64url")
        if (bytes.length <= SEAL_BYTES || bytes.toString("base64url") !== cursor) return Effect.fail(invalidCursor())
        const body = bytes.subarray(SEAL_BYTES).toString()
        const signature = bytes.subarray(0, SEAL_BYTES)
        const isAuthentic = keys.some((key) => isSameSecret(signatureOf(key.bytes, listing, body), signature))
        if (!isAuthentic) return Effect.fail(invalidCursor())
        const position: unknown = JSON.parse(body)
        return isPosition(position) ? Effect.succeed(position) : Effect.fail(invalidCursor())
      })

    return Cursors.of({
      seal,
      open,
      page: Effect.fnUntraced(function* (listing, request, read, positionOf) {
        const limit = request.limit ?? DEFAULT_LIMIT
        const after = request.cursor === undefined ? null : yield* open(listing, request.cursor)
        const rows = yield* read(after, limit + 1)
        const items = rows.length > limit ? rows.slice(0, limit) : rows
        const last = items.at(-1)
        const hasMore = rows.length > limit && last !== undefined
        return { items, hasMore, nextCursor: hasMore ? seal(listing, positionOf(last)) : "" }
      }),
    })
  }),
)
