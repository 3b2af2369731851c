/** The instances whose license ends soon, and those that still have access after its end: the first to end. */
import type { ReactNode } from "react"
import type { Overview } from "../kernel/Contract.ts"
import { daysUntil, formatBoundary } from "../kernel/Formats.ts"
import { complete, DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { Section } from "../widgets/Page.tsx"
import { ListLink, RecordLink } from "../widgets/records/Links.tsx"
import { Tag } from "../widgets/Tag.tsx"
import type { Tone } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

type Instances = Overview["ending"]
type Instance = Instances["items"][number]

const Left = ({ at, tone }: { readonly at: string; readonly tone: Tone }) => (
  <>
    <Tag tone={tone}>{t.left(daysUntil(at))}</Tag>
    <span className="sub">{formatBoundary(at)}</span>
  </>
)

const columnsWith = (last: Column<Instance>): ReadonlyArray<Column<Instance>> => [
  {
    id: "name",
    title: t.instance,
    width: "2fr",
    cell: ({ name, slug }) => (
      <RecordLink kind="instance" slug={slug}>
        {name}
      </RecordLink>
    ),
  },
  {
    id: "customer",
    title: t.customer,
    width: "1.5fr",
    cell: ({ customerSlug }) => <RecordLink kind="customer" slug={customerSlug} />,
  },
  {
    id: "license",
    title: t.license,
    width: "1.2fr",
    cell: ({ licenseSlug }) => <RecordLink kind="license" slug={licenseSlug} />,
  },
  { ...last, width: "1.6fr" },
]

const endingColumns = columnsWith({
  id: "ends",
  title: t.ends,
  cell: ({ endLicenseDate }) => <Left at={endLicenseDate} tone="warn" />,
})

const graceColumns = columnsWith({
  id: "until",
  title: t.until,
  cell: ({ accessEndsAt }) => <Left at={accessEndsAt} tone="danger" />,
})

const Instances = ({
  actions,
  columns,
  none,
  of,
  title,
}: {
  readonly of: Instances
  readonly title: string
  readonly none: string
  readonly columns: ReadonlyArray<Column<Instance>>
  readonly actions?: ReactNode
}) => (
  <Section title={title} actions={actions}>
    <DataTable
      label={title}
      columns={columns}
      rows={complete(of.items)}
      rowKey={({ slug }) => slug}
      empty={<p className="muted">{none}</p>}
    />
    {of.items.length < of.count && <p className="muted">{t.shown(of.items.length, t.count(of))}</p>}
  </Section>
)

export const Ending = ({ of }: { readonly of: Instances }) => (
  <Instances
    of={of}
    title={t.ending}
    none={t.noEnding}
    columns={endingColumns}
    actions={
      of.items.length < of.count && (
        <ListLink to="/instances" search={{ term: "ending" }} className="button">
          {t.showAll}
        </ListLink>
      )
    }
  />
)

export const InGrace = ({ of }: { readonly of: Instances }) => (
  <Instances of={of} title={t.grace} none={t.noGrace} columns={graceColumns} />
)
