/** The credentials of the operator. */
import { useState } from "react"
import type { Token } from "../kernel/Contract.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { useSession } from "../kernel/Session.ts"
import { t as common } from "../kernel/texts.en.ts"
import { CreateButton } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { RowAction } from "../widgets/records/RowAction.tsx"
import { tokenColumns } from "../widgets/tokens/Tokens.tsx"
import { validityOf } from "../widgets/tokens/Validity.tsx"
import { SecretDialog } from "../widgets/Secret.tsx"
import { Empty, ReadOnly } from "../widgets/States.tsx"
import { CreateCredential, RevokeCredential, RotateCredential } from "./CredentialDialogs.tsx"
import { t } from "./texts.en.ts"

type Opened =
  | { readonly kind: "create" }
  | { readonly kind: "rotate" | "revoke" | "replaced"; readonly credential: Token }
  | { readonly kind: "secret"; readonly secret: string; readonly replaces?: Token }

export const Page = () => {
  const rows = useRows("GET /api/platform/credentials", {})
  const { me } = useSession()
  const mayWrite = useCan("write:tokens")
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const create = mayWrite && (
    <CreateButton onPress={() => setOpened({ kind: "create" })}>{t.createCredential}</CreateButton>
  )
  const isOwn = (credential: Token) => credential.id === me?.credential.id
  const actions: Column<Token> = {
    id: "actions",
    title: common.common.actions,
    width: "170px",
    isUntitled: true,
    cell: (credential) =>
      validityOf(credential) === "valid" ? (
        <span className="inline">
          {mayWrite && (
            <>
              <RowAction
                title={common.common.rotate}
                of={credential.name}
                onPress={() => setOpened({ kind: "rotate", credential })}
              />
              <RowAction
                title={common.common.revoke}
                of={credential.name}
                onPress={() => setOpened({ kind: "revoke", credential })}
              />
            </>
          )}
          {isOwn(credential) && <span className="muted">{t.current}</span>}
        </span>
      ) : null,
  }
  return (
    <>
      <PageHead title={t.credentials} actions={create}>
        {t.credentialsHint}
      </PageHead>
      {!mayWrite && <ReadOnly />}
      <DataTable
        label={t.credentials}
        unit="credential"
        columns={[...tokenColumns, actions]}
        rows={rows}
        rowKey={({ id }) => id}
        empty={<Empty title={t.noCredentials}>{t.noCredentialsDetail}</Empty>}
      />
      {opened?.kind === "create" && (
        <CreateCredential onClose={close} onSecret={(secret) => setOpened({ kind: "secret", secret })} />
      )}
      {opened?.kind === "rotate" && (
        <RotateCredential
          credential={opened.credential}
          onClose={close}
          onSecret={(secret) => setOpened({ kind: "secret", secret, replaces: opened.credential })}
        />
      )}
      {opened?.kind === "secret" && (
        <SecretDialog
          secret={{
            title: t.credential,
            hint: opened.replaces === undefined ? t.credentialHint : t.replacedHint,
            value: opened.secret,
          }}
          onClose={() =>
            setOpened(opened.replaces === undefined ? undefined : { kind: "replaced", credential: opened.replaces })
          }
        />
      )}
      {(opened?.kind === "revoke" || opened?.kind === "replaced") && (
        <RevokeCredential
          credential={opened.credential}
          isOwn={isOwn(opened.credential)}
          isReplaced={opened.kind === "replaced"}
          onClose={close}
        />
      )}
    </>
  )
}
