/** The times and the text of revocation lists. Pure. */
import { HOUR_MS } from "../../../kernel/values/Timestamp.ts"
import type { Revocation } from "./Model.ts"

/** How many seconds a list is fresh: 7 days. */
const LIST_SECONDS = 604_800

/** The full hour of an instant. A list of an hour and a number is the same on all nodes. */
export const fullHour = (at: Date): Date => new Date(Math.floor(at.getTime() / HOUR_MS) * HOUR_MS)

/** The full hour from which on an instant has passed. */
export const hourAfter = (at: Date): Date => new Date(Math.ceil(at.getTime() / HOUR_MS) * HOUR_MS)

/** The claims of a list as JSON. */
export const listText = (issuer: string, number: number, hour: Date, revoked: ReadonlyArray<Revocation>): string => {
  const iat = hour.getTime() / 1000
  return JSON.stringify({
    v: 1,
    iss: issuer,
    number,
    iat,
    exp: iat + LIST_SECONDS,
    revoked: revoked.map(({ instanceId, revokedAt, sequence }) => ({
      sub: instanceId,
      seq: sequence,
      at: revokedAt.toISOString(),
    })),
  })
}
