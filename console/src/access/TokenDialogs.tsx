/** Issuing, rotating and revoking a token. The secret of a new token is shown once. */
import { useState } from "react"
import type { Body, ServiceAccount, Token } from "../kernel/Contract.ts"
import { momentOfInput } from "../kernel/Formats.ts"
import { useWrite } from "../kernel/Queries.ts"
import { modules } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { SelectField, TextField } from "../widgets/forms/Fields.tsx"
import { ConfirmDialog, errorAt, FormDialog } from "../widgets/forms/Form.tsx"
import { ScopeGrid } from "../widgets/forms/ScopeGrid.tsx"
import type { ScopeKinds } from "../widgets/forms/ScopeGrid.tsx"
import { UnseenSecret } from "../widgets/records/Tokens.tsx"
import { t } from "./texts.en.ts"

const STALE = { stale: ["/api/service-accounts"] }

type TokenScope = Body<"POST /api/service-accounts/:serviceAccountSlug/tokens">["scopes"][number]

const kinds: ScopeKinds<TokenScope> = {
  actions: ["read", "write"],
  modules,
  presets: [
    { title: t.preset.readAll, scopes: ["read:*"] },
    { title: t.preset.writeAll, scopes: ["write:*"] },
    { title: t.preset.deploy, scopes: ["write:releases", "write:components", "write:deployment_zones"] },
    { title: t.preset.none, scopes: [] },
  ],
}

export const IssueToken = ({
  account,
  onClose,
  onSecret,
}: {
  readonly account: ServiceAccount
  readonly onClose: () => void
  readonly onSecret: (secret: string) => void
}) => {
  const [name, setName] = useState("")
  const [scopes, setScopes] = useState<ReadonlyArray<TokenScope>>([])
  const [expires, setExpires] = useState("")
  const write = useWrite("POST /api/service-accounts/:serviceAccountSlug/tokens", {
    ...STALE,
    done: ({ token }) => onSecret(token),
  })
  return (
    <FormDialog
      title={t.issue}
      submit={t.issue}
      fields={["name", "scopes", "expiresAt"]}
      onClose={onClose}
      write={write}
      isDisabled={scopes.length === 0}
      onSubmit={() =>
        write.mutate({
          params: { serviceAccountSlug: account.slug },
          body: { name, scopes, expiresAt: momentOfInput(expires) ?? null },
        })
      }
    >
      <TextField
        label={common.common.name}
        isRequired
        autoFocus
        value={name}
        onChange={setName}
        error={errorAt(write.error, "name")}
      />
      <TextField
        kind="datetime-local"
        label={common.common.expires}
        hint={t.expiresHint}
        value={expires}
        onChange={setExpires}
        error={errorAt(write.error, "expiresAt")}
      />
      <ScopeGrid kinds={kinds} chosen={scopes} onChange={setScopes} error={errorAt(write.error, "scopes")} />
      <UnseenSecret error={write.error} />
    </FormDialog>
  )
}

const graces = ["0", "3600", "86400", "604800"] as const

export const RotateToken = ({
  account,
  onClose,
  onSecret,
  token,
}: {
  readonly account: ServiceAccount
  readonly token: Token
  readonly onClose: () => void
  readonly onSecret: (secret: string) => void
}) => {
  const [grace, setGrace] = useState<string>("0")
  const write = useWrite("POST /api/service-accounts/:serviceAccountSlug/tokens/:tokenSlug/rotate", {
    ...STALE,
    done: (issued) => onSecret(issued.token),
  })
  return (
    <FormDialog
      title={t.rotate(token.name)}
      submit={common.common.rotate}
      onClose={onClose}
      write={write}
      onSubmit={() =>
        write.mutate({
          params: { serviceAccountSlug: account.slug, tokenSlug: token.slug },
          body: { gracePeriodSeconds: Number(grace) },
        })
      }
    >
      <p>{t.rotateText}</p>
      <SelectField
        label={t.grace}
        value={grace}
        onChange={setGrace}
        choices={graces.map((id) => ({ id, title: t.graces[id] }))}
      />
      <UnseenSecret error={write.error} />
    </FormDialog>
  )
}

export const RevokeToken = ({
  account,
  onClose,
  token,
}: {
  readonly account: ServiceAccount
  readonly token: Token
  readonly onClose: () => void
}) => {
  const write = useWrite("DELETE /api/service-accounts/:serviceAccountSlug/tokens/:tokenSlug", {
    ...STALE,
    done: onClose,
  })
  return (
    <ConfirmDialog
      title={t.revoke(token.name)}
      submit={common.common.revoke}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { serviceAccountSlug: account.slug, tokenSlug: token.slug } })}
    >
      <p>{t.revokeText}</p>
    </ConfirmDialog>
  )
}
