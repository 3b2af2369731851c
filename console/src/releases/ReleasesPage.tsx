/** The list of releases, with the zones that run them. */
import { useNavigate } from "@tanstack/react-router"
import { Plus } from "lucide-react"
import { useCallback, useState } from "react"
import type { Release } from "../kernel/Contract.ts"
import { useAllRows, useMatching, useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { useUrl } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { FilterField } from "../widgets/forms/FilterField.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { createdColumn } from "../widgets/records/Columns.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { EmptyList, ReadOnly } from "../widgets/States.tsx"
import { descriptionColumn, releaseColumn } from "./Columns.tsx"
import { includes } from "./Lists.ts"
import { ReleaseForm } from "./ReleaseForm.tsx"
import { t } from "./texts.en.ts"

export const Page = () => {
  const [{ q = "" }, setUrl] = useUrl()
  const navigate = useNavigate()
  const rows = useMatching(
    useRows("GET /api/releases", {}),
    q === "" ? undefined : ({ slug, version }) => includes(q, slug, version),
  )
  const readsZones = useCan("read:deployment_zones")
  const zones = useAllRows(useRows("GET /api/deployment-zones", {}, { when: readsZones }), readsZones)
  const byRelease = Map.groupBy(zones.rows ?? [], ({ releaseId }) => releaseId)
  const [isCreating, setCreating] = useState(false)
  const mayWrite = useCan("write:releases")
  const setQ = useCallback((text: string) => setUrl({ q: text }), [setUrl])
  const create = mayWrite && (
    <Button look="primary" icon={<Plus aria-hidden size={16} />} onPress={() => setCreating(true)}>
      {t.createRelease}
    </Button>
  )
  const columns: ReadonlyArray<Column<Release>> = [
    releaseColumn,
    { id: "parts", title: t.components, width: "1fr", cell: ({ componentIds }) => t.parts(componentIds.length) },
    ...(readsZones
      ? [
          {
            id: "zones",
            title: t.runsIn,
            width: "2fr",
            cell: ({ id }: Release) => (
              <span className="tags">
                {byRelease.get(id)?.map(({ name, slug }) => (
                  <RecordLink key={slug} kind="zone" slug={slug}>
                    {name}
                  </RecordLink>
                ))}
              </span>
            ),
          },
        ]
      : []),
    descriptionColumn,
    createdColumn,
  ]
  return (
    <>
      <PageHead title={t.releases} actions={create} />
      {!mayWrite && <ReadOnly />}
      <div className="filters">
        <FilterField label={t.filterReleases} value={q} onChange={setQ} />
      </div>
      <DataTable
        label={t.releases}
        columns={columns}
        rows={rows}
        rowKey={({ id }) => id}
        empty={
          <EmptyList isFiltered={q !== ""} title={t.noReleases} action={create}>
            {t.noReleasesDetail}
          </EmptyList>
        }
      />
      {isCreating && (
        <ReleaseForm
          onClose={() => setCreating(false)}
          onCreated={(slug) => void navigate({ to: "/releases/$slug", params: { slug } })}
        />
      )}
    </>
  )
}
