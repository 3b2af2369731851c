/** Whether a token, a key or a bundle can still be used. */
import { Tag } from "../Tag.tsx"

interface Ending {
  readonly expiresAt: string | null
  readonly revokedAt: string | null
}

type Validity = "valid" | "expired" | "revoked"

/** The validity at this moment. */
export const validityOf = ({ expiresAt, revokedAt }: Ending): Validity => {
  if (revokedAt !== null) return "revoked"
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? "expired" : "valid"
}

export const ValidityTag = ({
  of,
  texts,
}: {
  readonly of: Ending
  readonly texts: Readonly<Record<Validity, string>>
}) => {
  const validity = validityOf(of)
  return <Tag tone={validity === "valid" ? "ok" : "muted"}>{texts[validity]}</Tag>
}
