/** Creating, rotating and revoking a platform credential. The secret of a new one is shown once. */
import { useState } from "react"
import type { Body, Token } from "../kernel/Contract.ts"
import { useWrite } from "../kernel/Queries.ts"
import { allows, platformModules } from "../kernel/Scopes.ts"
import { useSession } from "../kernel/Session.ts"
import { t as common } from "../kernel/texts.en.ts"
import { ConfirmDialog, FormDialog } from "../widgets/forms/Form.tsx"
import type { ScopeKinds } from "../widgets/forms/ScopeGrid.tsx"
import { TokenForm } from "../widgets/tokens/TokenForm.tsx"
import { UnseenSecret } from "../widgets/tokens/Tokens.tsx"
import { t } from "./texts.en.ts"

const STALE = { stale: ["/api/platform/credentials"] }

type PlatformScope = Body<"POST /api/platform/credentials">["scopes"][number]

const kinds: ScopeKinds<PlatformScope> = {
  actions: ["read", "write", "delete"],
  modules: platformModules,
  presets: [
    { title: t.preset.readAll, scopes: ["read:*"] },
    { title: t.preset.everything, scopes: ["write:*", "delete:*"] },
    { title: t.preset.provision, scopes: ["write:organizations", "write:memberships", "write:users", "write:tokens"] },
    { title: t.preset.none, scopes: [] },
  ],
}

const useCreate = (onSecret: (secret: string) => void) =>
  useWrite("POST /api/platform/credentials", { ...STALE, done: ({ token }) => onSecret(token) })

export const CreateCredential = ({
  onClose,
  onSecret,
}: {
  readonly onClose: () => void
  readonly onSecret: (secret: string) => void
}) => {
  const write = useCreate(onSecret)
  return (
    <TokenForm
      kinds={kinds}
      title={t.createCredential}
      submit={common.common.create}
      expiresHint={t.expiresHint}
      onClose={onClose}
      write={write}
      onSubmit={(body) => write.mutate({ body })}
    />
  )
}

/** The end of a credential that lives as long as another one, from now. */
const sameLifetime = ({ createdAt, expiresAt }: Token): string | null =>
  expiresAt === null ? null : new Date(Date.now() + Date.parse(expiresAt) - Date.parse(createdAt)).toISOString()

/** Creates another credential like this one. The old one is revoked afterwards, when nothing uses it any more. */
export const RotateCredential = ({
  credential,
  onClose,
  onSecret,
}: {
  readonly credential: Token
  readonly onClose: () => void
  readonly onSecret: (secret: string) => void
}) => {
  const { scopes: held } = useSession()
  // What the API answers as a scope, it takes as one.
  const scopes = credential.scopes as ReadonlyArray<PlatformScope>
  const isHeld = scopes.every((scope) => allows(held, scope))
  // Set when the dialog opens: a repetition of the same request must have the same body.
  const [expiresAt] = useState(() => sameLifetime(credential))
  const write = useCreate(onSecret)
  return (
    <FormDialog
      title={t.rotateCredential(credential.name)}
      submit={common.common.rotate}
      onClose={onClose}
      write={write}
      isDisabled={!isHeld}
      onSubmit={() => write.mutate({ body: { name: credential.name, scopes, expiresAt } })}
    >
      <p>{isHeld ? t.rotateCredentialText : t.notHeld}</p>
      <UnseenSecret error={write.error} />
    </FormDialog>
  )
}

export const RevokeCredential = ({
  credential,
  isOwn,
  isReplaced,
  onClose,
}: {
  readonly credential: Token
  /** Whether this session is signed in with it. */
  readonly isOwn: boolean
  /** Whether another one was just created in its place. */
  readonly isReplaced: boolean
  readonly onClose: () => void
}) => {
  const write = useWrite("DELETE /api/platform/credentials/:slug", { ...STALE, done: onClose })
  return (
    <ConfirmDialog
      title={t.revokeCredential(credential.name, credential.lastFour)}
      submit={common.common.revoke}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { slug: credential.slug } })}
    >
      <p>{t.revokeCredentialText}</p>
      {isOwn && <p className="danger-text">{t.revokeOwnText}</p>}
      {isReplaced && <p>{t.revokeLater}</p>}
    </ConfirmDialog>
  )
}
