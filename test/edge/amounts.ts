/** Random bodies of checks. */
import { SLUGS } from "./World.ts"

/** What the service rejects: negative, too many digits, of another type, unknown properties, no checks. */
const WRONG = [
  `{"checks":[{"entitlement":"exports","requested":-1}]}`,
  `{"checks":[{"entitlement":"exports","requested":1234567890123456789}]}`,
  `{"checks":[{"entitlement":"exports","requested":"1"}]}`,
  `{"checks":[{"entitlement":"exports","more":1}]}`,
  `{"checks":[]}`,
  `{"checks":`,
  `{"checks":[{"entitlement":"exports"}],"at":"yesterday"}`,
]

/** A body with up to six checks. Amounts are JSON, because all digits reach the decision. */
export const randomBody = (
  pick: (limit: number) => number,
  amounts: ReadonlyArray<string>,
  { slugs = SLUGS, more = "" } = {},
): string => {
  if (pick(20) === 0) return (WRONG[pick(WRONG.length)] ?? "").replace(/}$/, `${more}}`)
  const checks = Array.from({ length: 1 + pick(6) }, () => {
    const requested = pick(4) === 0 ? "" : `,"requested":${amounts[pick(amounts.length)]}`
    return `{"entitlement":"${slugs[pick(slugs.length)]}"${requested}}`
  })
  return `{"checks":[${checks.join(",")}]${more}}`
}
