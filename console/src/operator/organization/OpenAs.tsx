/**
 * Issues a token for an hour: with it the operator works as the organization, and the organization's events say so. The core
 * console is another origin, so the token goes there by the clipboard: in no URL, no storage and no log of a server.
 */
import { useState } from "react"
import type { Organization } from "../../kernel/Contract.ts"
import { HOUR_MS } from "../../kernel/Formats.ts"
import { useWrite } from "../../kernel/Queries.ts"
import { FormDialog } from "../../widgets/forms/Form.tsx"
import { UnseenSecret } from "../../widgets/tokens/Tokens.tsx"
import { SecretDialog } from "../../widgets/Secret.tsx"
import { t } from "../texts.en.ts"

const TOKEN_NAME = "Operator's console"

export const OpenAs = ({
  onClose,
  organization,
}: {
  readonly organization: Organization
  readonly onClose: () => void
}) => {
  const [token, setToken] = useState<string>()
  // Set when the dialog opens: a repetition of the same request must have the same body.
  const [expiresAt] = useState(() => new Date(Date.now() + HOUR_MS).toISOString())
  const write = useWrite("POST /api/platform/organizations/:orgId/tokens", {
    stale: [`/api/platform/organizations/:orgId/tokens`],
    done: (issued) => setToken(issued.token),
  })
  if (token !== undefined) {
    return <SecretDialog secret={{ title: t.openToken, hint: t.openTokenHint, value: token }} onClose={onClose} />
  }
  return (
    <FormDialog
      title={t.openAs(organization.name)}
      submit={t.openSubmit}
      onClose={onClose}
      write={write}
      onSubmit={() => write.mutate({ params: { orgId: organization.id }, body: { name: TOKEN_NAME, expiresAt } })}
    >
      <p>{t.openHint}</p>
      <UnseenSecret error={write.error} />
    </FormDialog>
  )
}
