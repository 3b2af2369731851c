/** One customer: facts, instances, integration records and activity. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Customer, Instance } from "../kernel/Contract.ts"
import { formatBoundary } from "../kernel/Formats.ts"
import { useRead, useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { usePathName } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { nameColumn } from "../widgets/records/Columns.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { EventList } from "../widgets/records/EventList.tsx"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { Integrations } from "../widgets/records/Integrations.tsx"
import { ListLink, RecordLink } from "../widgets/records/Links.tsx"
import { Empty, NotAllowed, Read, ReadOnly } from "../widgets/States.tsx"
import { Tabs } from "../widgets/Tabs.tsx"
import { Code, Moment } from "../widgets/Tag.tsx"
import { EditCustomer } from "./CustomerForm.tsx"
import { t } from "./texts.en.ts"

const instanceColumns: ReadonlyArray<Column<Instance>> = [
  nameColumn("instance", "2.5fr"),
  {
    id: "license",
    title: t.license,
    width: "1.5fr",
    cell: ({ licenseSlug }) => <RecordLink kind="license" slug={licenseSlug} />,
  },
  {
    id: "ends",
    title: t.ends,
    width: "1.5fr",
    cell: ({ endLicenseDate }) => (endLicenseDate === null ? common.common.never : formatBoundary(endLicenseDate)),
  },
]

const Instances = ({ customer }: { readonly customer: Customer }) => {
  const isAllowed = useCan("read:instances")
  const rows = useRows("GET /api/instances", { query: { customer: customer.slug } }, { when: isAllowed })
  if (!isAllowed) return <NotAllowed scope="read:instances" />
  return (
    <DataTable
      label={t.instances}
      columns={instanceColumns}
      rows={rows}
      rowKey={({ id }) => id}
      empty={<Empty title={common.common.none} />}
    />
  )
}

const DeleteCustomer = ({ customer, onClose }: { readonly customer: Customer; readonly onClose: () => void }) => {
  const navigate = useNavigate()
  return (
    <ImpactDialog
      title={t.remove(customer.name)}
      submit={common.common.remove}
      operation="DELETE /api/customers/:customerSlug"
      request={{ params: { customerSlug: customer.slug } }}
      leavesPage
      stale={["/api/customers"]}
      done={() => void navigate({ to: "/customers" })}
      onClose={onClose}
    />
  )
}

const Loaded = ({ customer }: { readonly customer: Customer }) => {
  const [dialog, setDialog] = useState<"edit" | "delete">()
  const mayWrite = useCan("write:customers")
  const mayCreate = useCan("write:instances")
  const close = () => setDialog(undefined)
  return (
    <>
      <PageHead
        title={customer.name}
        crumbs={<ListLink to="/customers">{t.title}</ListLink>}
        actions={
          <>
            {mayCreate && (
              <ListLink to="/instances" search={{ create: customer.slug }} className="button">
                {t.newInstance}
              </ListLink>
            )}
            {mayWrite && (
              <>
                <Button onPress={() => setDialog("edit")}>{common.common.edit}</Button>
                <Button onPress={() => setDialog("delete")}>{common.common.remove}</Button>
              </>
            )}
          </>
        }
      >
        <Code>{customer.slug}</Code>
        {customer.domain !== null && <span>{customer.domain}</span>}
        {customer.externalCustomerId !== null && (
          <span>
            {t.externalId} <Code>{customer.externalCustomerId}</Code>
          </span>
        )}
        <span>
          {common.common.updated} <Moment at={customer.updatedAt} relative />{" "}
          {common.common.by(customer.updatedBy.name)}
        </span>
      </PageHead>
      {!mayWrite && <ReadOnly />}
      <Tabs
        label={customer.name}
        items={[
          { id: "instances", title: t.instances, content: () => <Instances customer={customer} /> },
          {
            id: "integrations",
            title: t.integrations,
            content: () => <Integrations records={customer.integrations} />,
          },
          {
            id: "activity",
            title: t.activity,
            content: () => <EventList label={t.activity} filters={{ resource: customer.id }} />,
          },
        ]}
      />
      {dialog === "edit" && <EditCustomer customer={customer} onClose={close} />}
      {dialog === "delete" && <DeleteCustomer customer={customer} onClose={close} />}
    </>
  )
}

export const Page = () => {
  const slug = usePathName()
  const customer = useRead("GET /api/customers/:customerSlug", { params: { customerSlug: slug } })
  return (
    <Read of={customer} title={slug}>
      {(found) => <Loaded key={found.id} customer={found} />}
    </Read>
  )
}
