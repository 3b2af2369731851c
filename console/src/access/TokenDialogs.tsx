/** Issuing, rotating and revoking a token. The secret of a new token is shown once. */
import { useState } from "react"
import type { Body, ServiceAccount, Token } from "../kernel/Contract.ts"
import { useWrite } from "../kernel/Queries.ts"
import { modules } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { SelectField } from "../widgets/forms/Fields.tsx"
import { FormDialog } from "../widgets/forms/Form.tsx"
import type { ScopeKinds } from "../widgets/forms/ScopeGrid.tsx"
import { TokenForm } from "../widgets/tokens/TokenForm.tsx"
import { UnseenSecret } from "../widgets/tokens/Tokens.tsx"
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
  const write = useWrite("POST /api/service-accounts/:serviceAccountSlug/tokens", {
    ...STALE,
    done: ({ token }) => onSecret(token),
  })
  return (
    <TokenForm
      kinds={kinds}
      title={t.issue}
      submit={t.issue}
      expiresHint={t.expiresHint}
      onClose={onClose}
      write={write}
      onSubmit={(body) => write.mutate({ params: { serviceAccountSlug: account.slug }, body })}
    />
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
