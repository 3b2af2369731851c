/** Revoking a token of a service account, or a license key of an instance. */
import { useWrite } from "../../kernel/Queries.ts"
import { t as common } from "../../kernel/texts.en.ts"
import { ConfirmDialog } from "../forms/Form.tsx"
import { t } from "./texts.en.ts"

/** Whose it is. */
export type TokenOwner = { readonly serviceAccountSlug: string } | { readonly instanceSlug: string }

export const RevokeToken = ({
  onClose,
  owner,
  token,
}: {
  readonly owner: TokenOwner
  readonly token: { readonly name: string; readonly slug: string }
  readonly onClose: () => void
}) => {
  const ofAccount = useWrite("DELETE /api/service-accounts/:serviceAccountSlug/tokens/:tokenSlug", {
    stale: ["/api/service-accounts", "/api/events"],
    done: onClose,
  })
  const ofInstance = useWrite("DELETE /api/instances/:instanceSlug/keys/:keySlug", {
    stale: ["/api/instances", "/api/events"],
    done: onClose,
  })
  const dialog =
    "instanceSlug" in owner
      ? {
          title: t.revokeKey(token.name),
          text: t.revokeKeyText,
          write: ofInstance,
          onConfirm: () => ofInstance.mutate({ params: { ...owner, keySlug: token.slug } }),
        }
      : {
          title: t.revokeToken(token.name),
          text: t.revokeTokenText,
          write: ofAccount,
          onConfirm: () => ofAccount.mutate({ params: { ...owner, tokenSlug: token.slug } }),
        }
  return (
    <ConfirmDialog
      title={dialog.title}
      submit={common.common.revoke}
      onClose={onClose}
      write={dialog.write}
      onConfirm={dialog.onConfirm}
    >
      <p>{dialog.text}</p>
    </ConfirmDialog>
  )
}
