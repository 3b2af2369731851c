/** The tokens of a service account: who uses them, until when, and who revoked them. */
import { Plus } from "lucide-react"
import { useState } from "react"
import type { ServiceAccount, Token } from "../kernel/Contract.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { SecretDialog } from "../widgets/Secret.tsx"
import { RowAction } from "../widgets/records/RowAction.tsx"
import { RevokeToken } from "../widgets/tokens/RevokeToken.tsx"
import { tokenColumns } from "../widgets/tokens/Tokens.tsx"
import { validityOf } from "../widgets/tokens/Validity.tsx"
import { Empty } from "../widgets/States.tsx"
import { t } from "./texts.en.ts"
import { IssueToken, RotateToken } from "./TokenDialogs.tsx"

type Opened =
  | { readonly kind: "issue" }
  | { readonly kind: "rotate"; readonly token: Token }
  | { readonly kind: "revoke"; readonly token: Token }
  | { readonly kind: "secret"; readonly secret: string }

export const Tokens = ({ account }: { readonly account: ServiceAccount }) => {
  const rows = useRows("GET /api/service-accounts/:serviceAccountSlug/tokens", {
    params: { serviceAccountSlug: account.slug },
  })
  const mayWrite = useCan("write:tokens")
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const shown = (secret: string) => setOpened({ kind: "secret", secret })
  const actions: Column<Token> = {
    id: "actions",
    title: common.common.actions,
    width: "170px",
    isUntitled: true,
    cell: (token) =>
      validityOf(token) === "valid" ? (
        <span className="inline">
          <RowAction
            title={common.common.rotate}
            of={token.name}
            onPress={() => setOpened({ kind: "rotate", token })}
          />
          <RowAction
            title={common.common.revoke}
            of={token.name}
            onPress={() => setOpened({ kind: "revoke", token })}
          />
        </span>
      ) : null,
  }
  return (
    <>
      {mayWrite && (
        <div className="tab-tools">
          <Button icon={<Plus aria-hidden size={16} />} onPress={() => setOpened({ kind: "issue" })}>
            {t.issue}
          </Button>
        </div>
      )}
      <DataTable
        label={t.tabs.tokens}
        unit="token"
        columns={mayWrite ? [...tokenColumns, actions] : tokenColumns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={<Empty title={t.noTokens}>{t.noTokensDetail}</Empty>}
      />
      {opened?.kind === "issue" && <IssueToken account={account} onClose={close} onSecret={shown} />}
      {opened?.kind === "rotate" && (
        <RotateToken account={account} token={opened.token} onClose={close} onSecret={shown} />
      )}
      {opened?.kind === "revoke" && (
        <RevokeToken owner={{ serviceAccountSlug: account.slug }} token={opened.token} onClose={close} />
      )}
      {opened?.kind === "secret" && (
        <SecretDialog secret={{ title: t.secret, hint: t.secretHint, value: opened.secret }} onClose={close} />
      )}
    </>
  )
}
