/** Changes of a license version, each behind its dry run. */
import { useState } from "react"
import type { License } from "../kernel/Contract.ts"
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
  return (
    <ImpactDialog
      title={t.question(t.ask[transition], license.slug)}
      submit={t[transition]}
      isDangerous={transition === "archive"}
      operation={operation}
      request={{ params: { licenseSlug: license.slug } }}
      {...STALE}
      onClose={onClose}
    />
  )
}

/** Makes a version the default of its family, or no longer. */
export const DefaultLicense = ({
  license: shown,
  onClose,
}: {
  readonly license: License
  readonly onClose: () => void
}) => {
  // The dialog keeps its question even if someone else changes the version in the meantime.
  const [license] = useState(shown)
  const request = { params: { licenseSlug: license.slug }, body: { isDefault: !license.isDefault } }
  return (
    <ImpactDialog
      title={(license.isDefault ? t.removeDefaultTitle : t.makeDefaultTitle)(license.slug)}
      submit={license.isDefault ? t.removeDefault : t.makeDefault}
      isDangerous={license.isDefault}
      operation="PUT /api/licenses/:licenseSlug"
      request={request}
      {...STALE}
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
}) => (
  <ImpactDialog
    title={t.question(t.ask.delete, license.slug)}
    submit={common.common.remove}
    operation="DELETE /api/licenses/:licenseSlug"
    request={{ params: { licenseSlug: license.slug } }}
    leavesPage
    {...STALE}
    done={onDone}
    onClose={onClose}
  />
)
