/** The list of service accounts. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Item } from "../kernel/Contract.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { CreateButton } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { createdColumn, nameColumn } from "../widgets/records/Columns.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { Empty, ReadOnly } from "../widgets/States.tsx"
import { CreateAccount } from "./AccountForms.tsx"
import { t } from "./texts.en.ts"

type Account = Item<"GET /api/service-accounts">

const columns: ReadonlyArray<Column<Account>> = [
  nameColumn("serviceAccount", "2fr"),
  { id: "external", title: t.externalId, width: "1.5fr", cell: ({ externalId }) => externalId },
  createdColumn,
]

export const Page = () => {
  const navigate = useNavigate()
  const rows = useRows("GET /api/service-accounts", {})
  const mayWrite = useCan("write:tokens")
  const [isCreating, setCreating] = useState(false)
  const button = mayWrite && <CreateButton onPress={() => setCreating(true)}>{t.create}</CreateButton>
  const isEmpty = rows.rows?.length === 0
  return (
    <>
      <PageHead title={t.title} actions={isEmpty ? undefined : button}>
        {t.hint}
      </PageHead>
      {!mayWrite && <ReadOnly />}
      <DataTable
        label={t.title}
        unit="account"
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <Empty title={t.empty} action={button}>
            {t.emptyDetail}
          </Empty>
        }
      />
      {isCreating && (
        <CreateAccount
          onClose={() => setCreating(false)}
          onCreated={(slug) => void navigate({ to: "/service-accounts/$slug", params: { slug } })}
        />
      )}
    </>
  )
}
