/** A service account with its tokens and what it did. */
import { useNavigate } from "@tanstack/react-router"
import type { ServiceAccount } from "../kernel/Contract.ts"
import { useCan } from "../kernel/Scopes.ts"
import { deleteAction, editAction, eventsTab, RecordPage } from "../widgets/records/RecordPage.tsx"
import { Code } from "../widgets/Tag.tsx"
import { DeleteAccount, EditAccount } from "./AccountForms.tsx"
import { t } from "./texts.en.ts"
import { Tokens } from "./Tokens.tsx"

export const Account = ({ record: account }: { readonly record: ServiceAccount }) => {
  const navigate = useNavigate()
  const mayWrite = useCan("write:tokens")
  return (
    <RecordPage
      title={account.name}
      list={{ to: "/service-accounts", title: t.title }}
      isReadOnly={!mayWrite}
      actions={[
        editAction(mayWrite, (close) => <EditAccount account={account} onClose={close} />),
        deleteAction(mayWrite, (close) => (
          <DeleteAccount account={account} onClose={close} onDone={() => void navigate({ to: "/service-accounts" })} />
        )),
      ]}
      facts={
        <>
          <Code>{account.slug}</Code>
          {account.externalId !== null && (
            <span>
              {t.externalId}: <Code>{account.externalId}</Code>
            </span>
          )}
        </>
      }
      tabs={[
        { id: "tokens", title: t.tabs.tokens, content: () => <Tokens account={account} /> },
        eventsTab({ actor: account.id }),
      ]}
    />
  )
}
