/** One entitlement group: its entitlements, and what an instance uses of them. */
import { useNavigate } from "@tanstack/react-router"
import { Plus } from "lucide-react"
import { useState } from "react"
import type { Entitlement, EntitlementGroup } from "../kernel/Contract.ts"
import { useRead, useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { usePathName } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { nameColumn, updatedColumn } from "../widgets/records/Columns.tsx"
import { EventList } from "../widgets/records/EventList.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { Empty, Read, ReadOnly } from "../widgets/States.tsx"
import { Tabs } from "../widgets/Tabs.tsx"
import { Code } from "../widgets/Tag.tsx"
import { AddEntitlement, DeleteGroup, RemoveEntitlement } from "./GroupDialogs.tsx"
import { EditGroup } from "./GroupForm.tsx"
import { GroupUsage } from "./GroupUsage.tsx"
import { t } from "./texts.en.ts"

const Entitlements = ({ group, mayWrite }: { readonly group: EntitlementGroup; readonly mayWrite: boolean }) => {
  const rows = useRows("GET /api/entitlements", { query: { group: group.slug } })
  const [isAdding, setAdding] = useState(false)
  const [leaving, setLeaving] = useState<string>()
  const add = mayWrite && (
    <Button icon={<Plus aria-hidden size={16} />} onPress={() => setAdding(true)}>
      {t.add}
    </Button>
  )
  const columns: ReadonlyArray<Column<Entitlement>> = [
    nameColumn("entitlement", "3fr"),
    updatedColumn,
    {
      id: "leave",
      title: t.leave,
      width: "90px",
      isUntitled: true,
      cell: ({ slug }) =>
        mayWrite ? (
          <Button look="quiet" onPress={() => setLeaving(slug)}>
            <span className="visually-hidden">{t.leaveOf(slug)}</span>
            <span aria-hidden>{t.leave}</span>
          </Button>
        ) : null,
    },
  ]
  return (
    <>
      {group.entitlementSlugs.length > 0 && <div className="tab-tools">{add}</div>}
      <DataTable
        label={t.entitlements}
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <Empty title={t.noEntitlements} action={add}>
            {t.noEntitlementsDetail}
          </Empty>
        }
      />
      {isAdding && <AddEntitlement group={group} onClose={() => setAdding(false)} />}
      {leaving !== undefined && (
        <RemoveEntitlement group={group} slug={leaving} onClose={() => setLeaving(undefined)} />
      )}
    </>
  )
}

const Loaded = ({ group }: { readonly group: EntitlementGroup }) => {
  const navigate = useNavigate()
  const [opened, setOpened] = useState<"edit" | "delete">()
  const mayWrite = useCan("write:entitlements")
  const close = () => setOpened(undefined)
  return (
    <>
      <PageHead
        title={group.name}
        crumbs={<ListLink to="/entitlement-groups">{t.title}</ListLink>}
        actions={
          mayWrite ? (
            <>
              <Button onPress={() => setOpened("edit")}>{common.common.edit}</Button>
              <Button onPress={() => setOpened("delete")}>{common.common.remove}</Button>
            </>
          ) : undefined
        }
      >
        <Code>{group.slug}</Code>
        {group.description !== null && <span>{group.description}</span>}
      </PageHead>
      {!mayWrite && <ReadOnly />}
      <Tabs
        label={group.name}
        items={[
          {
            id: "entitlements",
            title: t.tabs.entitlements,
            content: () => <Entitlements group={group} mayWrite={mayWrite} />,
          },
          { id: "usage", title: t.tabs.usage, content: () => <GroupUsage slug={group.slug} /> },
          {
            id: "activity",
            title: t.tabs.activity,
            content: () => <EventList label={t.tabs.activity} filters={{ resource: group.id }} />,
          },
        ]}
      />
      {opened === "edit" && <EditGroup group={group} onClose={close} />}
      {opened === "delete" && (
        <DeleteGroup group={group} onClose={close} onDone={() => void navigate({ to: "/entitlement-groups" })} />
      )}
    </>
  )
}

export const Page = () => {
  const slug = usePathName()
  const group = useRead("GET /api/entitlement-groups/:entitlementGroupSlug", {
    params: { entitlementGroupSlug: slug },
  })
  return (
    <Read of={group} title={slug}>
      {(found) => <Loaded key={found.id} group={found} />}
    </Read>
  )
}
