/** The people of the installation. */
import { useState } from "react"
import type { User } from "../kernel/Contract.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { CreateButton } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { createdColumn } from "../widgets/records/Columns.tsx"
import { RowAction } from "../widgets/records/RowAction.tsx"
import { Empty, ReadOnly } from "../widgets/States.tsx"
import { Tag } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"
import { CreateUser, DeleteUser } from "./UserForms.tsx"

const columns: ReadonlyArray<Column<User>> = [
  {
    id: "name",
    title: common.common.name,
    width: "2fr",
    cell: ({ email, name }) => (
      <>
        {name}
        {email !== null && <span className="sub">{email}</span>}
      </>
    ),
  },
  {
    id: "identity",
    title: t.identity,
    width: "2fr",
    cell: ({ issuer, subject }) =>
      subject === null ? (
        <Tag tone="muted">{t.noIdentity}</Tag>
      ) : (
        <>
          <code className="slug">{subject}</code>
          <span className="sub">{issuer}</span>
        </>
      ),
  },
  createdColumn,
]

export const Page = () => {
  const rows = useRows("GET /api/platform/users", {})
  const mayWrite = useCan("write:users")
  const mayDelete = useCan("delete:users")
  const [opened, setOpened] = useState<"create" | User>()
  const close = () => setOpened(undefined)
  const create = mayWrite && <CreateButton onPress={() => setOpened("create")}>{t.createUser}</CreateButton>
  const actions: Column<User> = {
    id: "actions",
    title: common.common.actions,
    width: "90px",
    isUntitled: true,
    cell: (user) => <RowAction title={common.common.remove} of={user.name} onPress={() => setOpened(user)} />,
  }
  return (
    <>
      <PageHead title={t.users} actions={rows.rows?.length === 0 ? undefined : create}>
        {t.usersHint}
      </PageHead>
      {!mayWrite && <ReadOnly />}
      <DataTable
        label={t.users}
        unit="user"
        columns={mayDelete ? [...columns, actions] : columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <Empty title={t.noUsers} action={create}>
            {t.noUsersDetail}
          </Empty>
        }
      />
      {opened === "create" && <CreateUser onClose={close} />}
      {opened !== undefined && opened !== "create" && <DeleteUser user={opened} onClose={close} />}
    </>
  )
}
