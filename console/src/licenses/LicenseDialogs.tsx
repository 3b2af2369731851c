/** Changes of a license version, each behind its dry run. */
import { call } from "../kernel/Api.ts"
import type { DryRun, License } from "../kernel/Contract.ts"
import { useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { t } from "./texts.en.ts"

export type Transition = "publish" | "archive" | "unarchive"

const STALE = { stale: ["/api/license", "/api/instances"] }

const operations = {
  publish: "POST /api/licenses/:licenseSlug/publish",
  archive: "POST /api/licenses/:licenseSlug/archive",
  unarchive: "POST /api/licenses/:licenseSlug/unarchive",
} as const satisfies Record<Transition, string>

export const TransitionLicense = ({
  license,
  onClose,
  transition,
}: {
  readonly license: License
  readonly transition: Transition
  readonly onClose: () => void
}) => {
  const operation = operations[transition]
  const params = { licenseSlug: license.slug }
  const write = useWrite(operation, { ...STALE, done: onClose })
  return (
    <ImpactDialog
      title={t.question(t.ask[transition], license.slug)}
      submit={t[transition]}
      isDangerous={transition === "archive"}
      queryKey={[operation, params]}
      run={async (signal) => {
        const answer = await call(operation, { params, query: { dryRun: "true" } }, { signal })
        return answer as DryRun<typeof operation>
      }}
      write={write}
      onConfirm={() => write.mutate({ params })}
      onClose={onClose}
    />
  )
}

/** Makes a version the default of its family, or no longer. */
export const DefaultLicense = ({ license, onClose }: { readonly license: License; readonly onClose: () => void }) => {
  const request = { params: { licenseSlug: license.slug }, body: { isDefault: !license.isDefault } }
  const write = useWrite("PUT /api/licenses/:licenseSlug", { ...STALE, done: onClose })
  return (
    <ImpactDialog
      title={(license.isDefault ? t.removeDefaultTitle : t.makeDefaultTitle)(license.slug)}
      submit={license.isDefault ? t.removeDefault : t.makeDefault}
      isDangerous={license.isDefault}
      queryKey={["default", request]}
      run={async (signal) => {
        const answer = await call(
          "PUT /api/licenses/:licenseSlug",
          { ...request, query: { dryRun: "true" } },
          { signal },
        )
        return answer as DryRun<"PUT /api/licenses/:licenseSlug">
      }}
      write={write}
      onConfirm={() => write.mutate(request)}
      onClose={onClose}
    />
  )
}

export const DeleteLicense = ({
  license,
  onClose,
  onDone,
}: {
  readonly license: License
  readonly onClose: () => void
  readonly onDone: () => void
}) => {
  const params = { licenseSlug: license.slug }
  const write = useWrite("DELETE /api/licenses/:licenseSlug", { leavesPage: true, ...STALE, done: onDone })
  return (
    <ImpactDialog
      title={t.question(t.ask.delete, license.slug)}
      submit={common.common.remove}
      queryKey={["delete", params]}
      run={async (signal) => {
        const answer = await call(
          "DELETE /api/licenses/:licenseSlug",
          { params, query: { dryRun: "true" } },
          { signal },
        )
        return answer as DryRun<"DELETE /api/licenses/:licenseSlug">
      }}
      write={write}
      onConfirm={() => write.mutate({ params })}
      onClose={onClose}
    />
  )
}
