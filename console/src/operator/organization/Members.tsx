/** The members of an organization and their roles. */
import { Plus } from "lucide-react"
import { useState } from "react"
import type { Membership, Organization } from "../../kernel/Contract.ts"
import { words } from "../../kernel/Formats.ts"
import { useRows } from "../../kernel/Queries.ts"
import { useCan } from "../../kernel/Scopes.ts"
import { t as common } from "../../kernel/texts.en.ts"
import { useUrl } from "../../kernel/Url.ts"
import { Button } from "../../widgets/Button.tsx"
import { DataTable } from "../../widgets/DataTable.tsx"
import type { Column } from "../../widgets/DataTable.tsx"
import { CheckField } from "../../widgets/forms/Fields.tsx"
import { RowAction } from "../../widgets/records/RowAction.tsx"
import { Empty, NotAllowed } from "../../widgets/States.tsx"
import { Moment, Tag } from "../../widgets/Tag.tsx"
import { t } from "../texts.en.ts"
import { AddMember, ChangeRole, RemoveMember } from "./MemberDialogs.tsx"

const columns: ReadonlyArray<Column<Membership>> = [
  {
    id: "name",
    title: t.person,
    width: "2fr",
    cell: ({ removedAt, userName }) => (
      <>
        {userName} {removedAt !== null && <Tag tone="muted">{t.isRemoved}</Tag>}
      </>
    ),
  },
  { id: "role", title: t.role, width: "1fr", cell: ({ role }) => words(role) },
  {
    id: "since",
    title: t.since,
    width: "1.5fr",
    cell: ({ createdAt, createdBy }) => (
      <>
        <Moment at={createdAt} />
        <span className="sub">{common.common.by(createdBy.name)}</span>
      </>
    ),
  },
]

type Opened = { readonly kind: "add" } | { readonly kind: "change" | "remove"; readonly membership: Membership }

export const Members = ({ organization }: { readonly organization: Organization }) => {
  const [{ removed }, setUrl] = useUrl()
  const mayRead = useCan("read:memberships")
  const mayWrite = useCan("write:memberships")
  const mayAdd = useCan("read:users") && mayWrite
  const mayRemove = useCan("delete:memberships")
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const rows = useRows(
    "GET /api/platform/organizations/:orgId/memberships",
    { params: { orgId: organization.id }, query: { includeRemoved: removed === "true" ? "true" : undefined } },
    { when: mayRead },
  )
  if (!mayRead) return <NotAllowed scope="read:memberships" />
  const add = mayAdd && (
    <Button icon={<Plus aria-hidden size={16} />} onPress={() => setOpened({ kind: "add" })}>
      {t.addMember}
    </Button>
  )
  const actions: Column<Membership> = {
    id: "actions",
    title: common.common.actions,
    width: "190px",
    isUntitled: true,
    cell: (membership) =>
      membership.removedAt === null ? (
        <span className="inline">
          {mayWrite && (
            <RowAction
              title={t.change}
              of={membership.userName}
              onPress={() => setOpened({ kind: "change", membership })}
            />
          )}
          {mayRemove && (
            <RowAction
              title={common.common.remove}
              of={membership.userName}
              onPress={() => setOpened({ kind: "remove", membership })}
            />
          )}
        </span>
      ) : null,
  }
  return (
    <>
      <div className="tab-tools">
        <CheckField
          label={t.showRemoved}
          isSelected={removed === "true"}
          onChange={(isSelected) => setUrl({ removed: isSelected ? "true" : undefined })}
        />
        {rows.rows?.length === 0 ? null : add}
      </div>
      <DataTable
        label={t.tabs.members}
        unit="member"
        columns={mayWrite || mayRemove ? [...columns, actions] : columns}
        rows={rows}
        rowKey={({ createdAt, userId }) => userId + createdAt}
        empty={
          <Empty title={t.noMembers} action={add}>
            {t.noMembersDetail}
          </Empty>
        }
      />
      {opened?.kind === "add" && <AddMember organization={organization} onClose={close} />}
      {opened?.kind === "change" && <ChangeRole membership={opened.membership} onClose={close} />}
      {opened?.kind === "remove" && <RemoveMember membership={opened.membership} onClose={close} />}
    </>
  )
}
