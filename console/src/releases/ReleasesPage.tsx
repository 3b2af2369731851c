/** The list of releases, with the zones that run them. */
import { useNavigate } from "@tanstack/react-router"
import type { Release } from "../kernel/Contract.ts"
import { useAllRows, useMatching, useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { useUrl } from "../kernel/Url.ts"
import type { Column } from "../widgets/DataTable.tsx"
import { RecordList } from "../widgets/records/RecordList.tsx"
import { FilterField } from "../widgets/forms/FilterField.tsx"
import { createdColumn } from "../widgets/records/Columns.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { descriptionColumn, releaseColumn } from "./Columns.tsx"
import { includes } from "./Lists.ts"
import { ReleaseForm } from "./ReleaseForm.tsx"
import { t } from "./texts.en.ts"

export const Page = () => {
  const [{ q = "" }] = useUrl()
  const navigate = useNavigate()
  const rows = useMatching(
    useRows("GET /api/releases", {}),
    q === "" ? undefined : ({ slug, version }) => includes(q, slug, version),
  )
  const readsZones = useCan("read:deployment_zones")
  const zones = useAllRows(useRows("GET /api/deployment-zones", {}, { when: readsZones }), readsZones)
  const byRelease = Map.groupBy(zones.rows ?? [], ({ releaseId }) => releaseId)
  const mayWrite = useCan("write:releases")
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
    <RecordList
      unit="release"
      texts={{ title: t.releases, create: t.createRelease, empty: t.noReleases, emptyDetail: t.noReleasesDetail }}
      columns={columns}
      rows={rows}
      mayWrite={mayWrite}
      form={(close) => (
        <ReleaseForm onClose={close} onCreated={(slug) => void navigate({ to: "/releases/$slug", params: { slug } })} />
      )}
      isFiltered={q !== ""}
    >
      <FilterField label={t.filterReleases} name="q" />
    </RecordList>
  )
}
