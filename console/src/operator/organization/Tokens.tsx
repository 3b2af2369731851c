/** The tokens that the operator issued for an organization. */
import { useState } from "react"
import type { Organization, Token } from "../../kernel/Contract.ts"
import { useRows, useWrite } from "../../kernel/Queries.ts"
import { useCan } from "../../kernel/Scopes.ts"
import { t as common } from "../../kernel/texts.en.ts"
import { DataTable } from "../../widgets/DataTable.tsx"
import { ConfirmDialog } from "../../widgets/forms/Form.tsx"
import { RowAction } from "../../widgets/records/RowAction.tsx"
import { tokenColumns } from "../../widgets/tokens/Tokens.tsx"
import { validityOf } from "../../widgets/tokens/Validity.tsx"
import { Empty, NotAllowed } from "../../widgets/States.tsx"
import { t } from "../texts.en.ts"

const RevokeToken = ({
  onClose,
  organization,
  token,
}: {
  readonly organization: Organization
  readonly token: Token
  readonly onClose: () => void
}) => {
  const write = useWrite("DELETE /api/platform/organizations/:orgId/tokens/:tokenSlug", {
    stale: ["/api/platform/organizations/:orgId/tokens"],
    done: onClose,
  })
  return (
    <ConfirmDialog
      title={t.revokeToken(token.name)}
      submit={common.common.revoke}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { orgId: organization.id, tokenSlug: token.slug } })}
    >
      <p>{t.revokeTokenText}</p>
    </ConfirmDialog>
  )
}

export const Tokens = ({ organization }: { readonly organization: Organization }) => {
  const mayRead = useCan("read:tokens")
  const mayWrite = useCan("write:tokens")
  const [revoking, setRevoking] = useState<Token>()
  const rows = useRows(
    "GET /api/platform/organizations/:orgId/tokens",
    { params: { orgId: organization.id } },
    { when: mayRead },
  )
  if (!mayRead) return <NotAllowed scope="read:tokens" />
  const actions = {
    id: "actions",
    title: common.common.actions,
    width: "90px",
    isUntitled: true,
    cell: (token: Token) =>
      validityOf(token) === "valid" ? (
        <RowAction title={common.common.revoke} of={token.name} onPress={() => setRevoking(token)} />
      ) : null,
  }
  return (
    <>
      <DataTable
        label={t.tabs.tokens}
        unit="token"
        columns={mayWrite ? [...tokenColumns, actions] : tokenColumns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={<Empty title={t.noTokens}>{t.noTokensDetail}</Empty>}
      />
      {revoking !== undefined && (
        <RevokeToken organization={organization} token={revoking} onClose={() => setRevoking(undefined)} />
      )}
    </>
  )
}
