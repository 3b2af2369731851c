/** What lists and dialogs of tokens share: tokens of service accounts, of the operator, and platform credentials. */
import { Problem } from "../../kernel/Api.ts"
import type { Token } from "../../kernel/Contract.ts"
import { t as common } from "../../kernel/texts.en.ts"
import type { Column } from "../DataTable.tsx"
import { Moment } from "../Tag.tsx"
import { t } from "./texts.en.ts"
import { ValidityTag } from "./Validity.tsx"

/** The token was made, but its secret did not arrive, and is not sent again. */
export const UnseenSecret = ({ error }: { readonly error: unknown }) =>
  error instanceof Problem && error.code === "IdempotencyKey.SecretNotReplayable" ? (
    <p className="danger-text">{t.unseen}</p>
  ) : null

export const tokenColumns: ReadonlyArray<Column<Token>> = [
  {
    id: "name",
    title: t.token,
    width: "1.6fr",
    cell: ({ lastFour, name }) => (
      <>
        {name}
        <span className="sub">...{lastFour}</span>
      </>
    ),
  },
  { id: "scopes", title: t.scopes, width: "2.2fr", cell: ({ scopes }) => scopes.join(", ") },
  {
    id: "used",
    title: t.lastUsed,
    width: "1fr",
    cell: ({ lastUsedAt }) => (lastUsedAt === null ? common.common.never : <Moment at={lastUsedAt} relative />),
  },
  {
    id: "expires",
    title: common.common.expires,
    width: "1fr",
    cell: ({ expiresAt }) => (expiresAt === null ? common.common.never : <Moment at={expiresAt} relative />),
  },
  {
    id: "state",
    title: common.common.state,
    width: "1.2fr",
    cell: (token) => (
      <>
        <ValidityTag of={token} texts={t.states} />
        {token.revokedBy !== null && <span className="sub">{common.common.by(token.revokedBy.name)}</span>}
      </>
    ),
  },
]
