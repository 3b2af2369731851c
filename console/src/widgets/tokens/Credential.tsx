/** The credential that a change was made with: whose it is, whether it still works, and the way to stop it. */
import { useState } from "react"
import type { EventRecord } from "../../kernel/Contract.ts"
import { useRead } from "../../kernel/Queries.ts"
import { useCan } from "../../kernel/Scopes.ts"
import { t as common } from "../../kernel/texts.en.ts"
import { Code } from "../Tag.tsx"
import { RecordLink } from "../records/Links.tsx"
import { RowAction } from "../records/RowAction.tsx"
import { RevokeToken } from "./RevokeToken.tsx"
import type { TokenOwner } from "./RevokeToken.tsx"
import { t } from "./texts.en.ts"
import { ValidityTag, validityOf } from "./Validity.tsx"

export type UsedCredential = NonNullable<EventRecord["credential"]>

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null)

/** Whose it is, by the events about it; `undefined` if only the operator can say. */
const ownerOf = ({ data }: EventRecord): TokenOwner | undefined => {
  const { instanceSlug, serviceAccountSlug } = data
  if (typeof serviceAccountSlug === "string") return { serviceAccountSlug }
  return typeof instanceSlug === "string" ? { instanceSlug } : undefined
}

const Owner = ({ owner }: { readonly owner: TokenOwner }) =>
  "instanceSlug" in owner ? (
    <>
      {t.credential.ofInstance} <RecordLink kind="instance" slug={owner.instanceSlug} />
    </>
  ) : (
    <>
      {t.credential.ofAccount} <RecordLink kind="serviceAccount" slug={owner.serviceAccountSlug} />
    </>
  )

/** The organization's events name what belongs to it. A platform credential is not among them. */
export const Credential = ({ credential }: { readonly credential: UsedCredential }) => {
  const mayRevoke = useCan("write:tokens")
  const [isRevoking, setRevoking] = useState(false)
  const { data, isPending } = useRead("GET /api/events", {
    query: { resource: [credential.id], order: "desc", limit: "1" },
  })
  const newest = data?.items[0]
  const owner = newest === undefined ? undefined : ownerOf(newest)
  const ending = newest && { expiresAt: textOf(newest.data.expiresAt), revokedAt: textOf(newest.data.revokedAt) }
  return (
    <div>
      <span className="inline">
        {credential.name} <Code>{credential.slug}</Code>
        {ending !== undefined && <ValidityTag of={ending} texts={t.states} />}
        {mayRevoke && owner !== undefined && ending !== undefined && validityOf(ending) === "valid" && (
          <RowAction title={common.common.revoke} of={credential.name} onPress={() => setRevoking(true)} />
        )}
      </span>
      {!isPending && (
        <span className="sub">
          {owner !== undefined ? (
            <Owner owner={owner} />
          ) : newest === undefined ? (
            t.credential.unknown
          ) : (
            t.credential.ofOperator
          )}
        </span>
      )}
      {isRevoking && owner !== undefined && (
        <RevokeToken owner={owner} token={credential} onClose={() => setRevoking(false)} />
      )}
    </div>
  )
}
