/** A service account with its tokens and what it did. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { ServiceAccount } from "../kernel/Contract.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Button } from "../widgets/Button.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { EventList } from "../widgets/records/EventList.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { ReadOnly } from "../widgets/States.tsx"
import { Tabs } from "../widgets/Tabs.tsx"
import { Code } from "../widgets/Tag.tsx"
import { DeleteAccount, EditAccount } from "./AccountForms.tsx"
import { t } from "./texts.en.ts"
import { Tokens } from "./Tokens.tsx"

export const Account = ({ account }: { readonly account: ServiceAccount }) => {
  const navigate = useNavigate()
  const mayWrite = useCan("write:tokens")
  const [opened, setOpened] = useState<"edit" | "delete">()
  const close = () => setOpened(undefined)
  return (
    <>
      <PageHead
        title={account.name}
        crumbs={<ListLink to="/service-accounts">{t.title}</ListLink>}
        actions={
          mayWrite ? (
            <>
              <Button onPress={() => setOpened("edit")}>{common.common.edit}</Button>
              <Button onPress={() => setOpened("delete")}>{common.common.remove}</Button>
            </>
          ) : undefined
        }
      >
        <Code>{account.slug}</Code>
        {account.externalId !== null && (
          <span>
            {t.externalId}: <Code>{account.externalId}</Code>
          </span>
        )}
      </PageHead>
      {!mayWrite && <ReadOnly />}
      <Tabs
        label={account.name}
        items={[
          { id: "tokens", title: t.tabs.tokens, content: () => <Tokens account={account} /> },
          {
            id: "activity",
            title: t.tabs.activity,
            content: () => <EventList label={t.tabs.activity} filters={{ actor: account.id }} />,
          },
        ]}
      />
      {opened === "edit" && <EditAccount account={account} onClose={close} />}
      {opened === "delete" && (
        <DeleteAccount account={account} onClose={close} onDone={() => void navigate({ to: "/service-accounts" })} />
      )}
    </>
  )
}
