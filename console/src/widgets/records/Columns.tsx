/** Columns that lists of several features have. */
import type { Actor, Instance } from "../../kernel/Contract.ts"
import { t as common } from "../../kernel/texts.en.ts"
import type { Column } from "../DataTable.tsx"
import { Moment } from "../Tag.tsx"
import { RecordLink } from "./Links.tsx"
import type { RecordKind } from "./Links.tsx"
import { t } from "./texts.en.ts"

interface Named {
  readonly name: string
  readonly slug: string
}

/** A record by its name, with its slug below. */
export const NamedLink = ({
  kind,
  name,
  slug,
}: {
  readonly kind: RecordKind
  readonly slug: string
  readonly name: string | undefined
}) => (
  <>
    <RecordLink kind={kind} slug={slug}>
      {name}
    </RecordLink>
    {name !== undefined && name !== slug && <span className="sub">{slug}</span>}
  </>
)

/** The customer of an instance. */
export const customerColumn = (width: string): Column<Pick<Instance, "customerName" | "customerSlug">> => ({
  id: "customer",
  title: t.customer,
  width,
  cell: ({ customerName, customerSlug }) => <NamedLink kind="customer" slug={customerSlug} name={customerName} />,
})

/** The license version of an instance. */
export const licenseColumn = (width: string): Column<Pick<Instance, "licenseName" | "licenseSlug">> => ({
  id: "license",
  title: t.license,
  width,
  cell: ({ licenseName, licenseSlug }) => <NamedLink kind="license" slug={licenseSlug} name={licenseName} />,
})

/** The name of a row's record as a link, and its slug below. */
export const nameColumn = <T extends Named>(
  kind: RecordKind,
  width: string,
  textOf: (row: T) => string = ({ name }) => name,
): Column<T> => ({
  id: "name",
  title: common.common.name,
  width,
  cell: (row) => (
    <>
      <RecordLink kind={kind} slug={row.slug}>
        {textOf(row)}
      </RecordLink>
      <span className="sub">{row.slug}</span>
    </>
  ),
})

/** When a row's record changed last. */
export const updatedColumn: Column<{ readonly updatedAt: string }> = {
  id: "updated",
  title: common.common.updated,
  width: "110px",
  cell: ({ updatedAt }) => <Moment at={updatedAt} relative />,
}

/** When a row's record was created, and by whom. */
export const createdColumn: Column<{ readonly createdAt: string; readonly createdBy: Actor }> = {
  id: "created",
  title: common.common.created,
  width: "1.5fr",
  cell: ({ createdAt, createdBy }) => (
    <>
      <Moment at={createdAt} relative />
      <span className="sub">{common.common.by(createdBy.name)}</span>
    </>
  ),
}
