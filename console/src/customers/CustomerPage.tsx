/** One customer: facts, instances, integration records and activity. */
import { useNavigate } from "@tanstack/react-router"
import type { Customer, Instance } from "../kernel/Contract.ts"
import { formatBoundary } from "../kernel/Formats.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { licenseColumn, nameColumn } from "../widgets/records/Columns.tsx"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import {
  deleteAction,
  editAction,
  integrationsTab,
  LastChange,
  pageOf,
  RecordPage,
  wholeActivityTab,
} from "../widgets/records/RecordPage.tsx"
import { Empty, NotAllowed } from "../widgets/States.tsx"
import { Code } from "../widgets/Tag.tsx"
import { EditCustomer } from "./CustomerForm.tsx"
import { t } from "./texts.en.ts"

const instanceColumns: ReadonlyArray<Column<Instance>> = [
  nameColumn("instance", "2.5fr"),
  licenseColumn("1.5fr"),
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
      unit="instance"
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

const Loaded = ({ record: customer }: { readonly record: Customer }) => {
  const mayWrite = useCan("write:customers")
  const mayCreate = useCan("write:instances")
  return (
    <RecordPage
      title={customer.name}
      list={{ to: "/customers", title: t.title }}
      isReadOnly={!mayWrite}
      links={
        mayCreate ? (
          <ListLink to="/instances" search={{ create: customer.slug }} className="button">
            {t.newInstance}
          </ListLink>
        ) : undefined
      }
      actions={[
        editAction(mayWrite, (close) => <EditCustomer record={customer} onClose={close} />),
        deleteAction(mayWrite, (close) => <DeleteCustomer customer={customer} onClose={close} />),
      ]}
      facts={
        <>
          <Code>{customer.slug}</Code>
          {customer.domain !== null && <span>{customer.domain}</span>}
          {customer.externalCustomerId !== null && (
            <span>
              {t.externalId} <Code>{customer.externalCustomerId}</Code>
            </span>
          )}
          <LastChange record={customer} />
        </>
      }
      tabs={[
        { id: "instances", title: t.instances, content: () => <Instances customer={customer} /> },
        integrationsTab(customer),
        wholeActivityTab(customer),
      ]}
    />
  )
}

export const Page = pageOf("GET /api/customers/:customerSlug", (customerSlug) => ({ params: { customerSlug } }), Loaded)
