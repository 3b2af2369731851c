/** What a license version grants, the versions of its family side by side, and the instances that hold it. */
import { useQueries } from "@tanstack/react-query"
import { approximate, formatAmount } from "../kernel/Amount.ts"
import { call } from "../kernel/Api.ts"
import type { Grant, Instance, License } from "../kernel/Contract.ts"
import { keyOf, useRead, useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { Empty, NotAllowed, Read } from "../widgets/States.tsx"
import { Code } from "../widgets/Tag.tsx"
import { LicenseState } from "./LicenseState.tsx"
import { t } from "./texts.en.ts"

const valueText = (value: Grant["value"]): string => {
  if (typeof value === "boolean") return String(value)
  if (typeof value === "object") return JSON.stringify(value)
  return approximate(value) === -1 ? t.unlimited : formatAmount(value)
}

const grantColumns: ReadonlyArray<Column<Grant>> = [
  {
    id: "entitlement",
    title: t.entitlement,
    width: "2fr",
    cell: ({ entitlementSlug }) => <Code>{entitlementSlug}</Code>,
  },
  { id: "value", title: t.value, width: "2fr", cell: ({ value }) => valueText(value) },
  {
    id: "overage",
    title: t.overage,
    width: "1fr",
    isNumber: true,
    cell: ({ overagePercent }) => (overagePercent === 0 ? null : `${overagePercent} %`),
  },
]

export const Grants = ({ slug }: { readonly slug: string }) => {
  const rows = useRows("GET /api/licenses/:licenseSlug/entitlements", { params: { licenseSlug: slug } })
  return (
    <DataTable
      label={t.tabs.grants}
      columns={grantColumns}
      rows={rows}
      rowKey={({ entitlementSlug }) => entitlementSlug}
      empty={<Empty title={t.noGrants}>{t.noGrantsDetail}</Empty>}
    />
  )
}

/** The grants of each version, read together. */
const useGrants = (versions: ReadonlyArray<License>) =>
  useQueries({
    queries: versions.map(({ slug }) => {
      const request = { params: { licenseSlug: slug }, query: { limit: "200" } }
      return {
        queryKey: keyOf("GET /api/licenses/:licenseSlug/entitlements", request),
        queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
          call("GET /api/licenses/:licenseSlug/entitlements", request, { signal }),
      }
    }),
    combine: (answers) =>
      answers.map(({ data }) => new Map(data?.items.map((grant) => [grant.entitlementSlug, grant]))),
  })

const Comparison = ({ current, versions }: { readonly versions: ReadonlyArray<License>; readonly current: string }) => {
  const grants = useGrants(versions)
  const entitlements = [...new Set(grants.flatMap((map) => [...map.keys()]))].sort()
  return (
    <div className="scroll wide" tabIndex={0} role="region" aria-label={t.tabs.versions}>
      <table className="plain">
        <thead>
          <tr>
            <th scope="col">{t.entitlement}</th>
            {versions.map(({ lifecycleState, slug, version }) => (
              <th key={slug} scope="col">
                {slug === current ? `v${version}` : <RecordLink kind="license" slug={slug}>{`v${version}`}</RecordLink>}{" "}
                <LicenseState state={lifecycleState} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {entitlements.map((entitlement) => (
            <tr key={entitlement}>
              <th scope="row">
                <Code>{entitlement}</Code>
              </th>
              {versions.map(({ slug }, index) => {
                const grant = grants[index]?.get(entitlement)
                return <td key={slug}>{grant === undefined ? "-" : valueText(grant.value)}</td>
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export const Versions = ({ license }: { readonly license: License }) => {
  const family = useRead("GET /api/license-families/:licenseFamilySlug", {
    params: { licenseFamilySlug: license.familySlug },
    query: { include: "versions" },
  })
  return <Read of={family}>{({ versions = [] }) => <Comparison versions={versions} current={license.slug} />}</Read>
}

const holderColumns: ReadonlyArray<Column<Instance>> = [
  {
    id: "name",
    title: t.name,
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
]

export const Holders = ({ slug }: { readonly slug: string }) => {
  const isAllowed = useCan("read:instances")
  const rows = useRows("GET /api/instances", { query: { license: slug } }, { when: isAllowed })
  if (!isAllowed) return <NotAllowed scope="read:instances" />
  return (
    <DataTable
      label={t.tabs.instances}
      columns={holderColumns}
      rows={rows}
      rowKey={({ id }) => id}
      empty={<Empty title={t.noInstances} />}
    />
  )
}
