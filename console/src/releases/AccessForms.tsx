/** Changes who may have a release, and withdraws it: each behind its dry run. */
import { useState } from "react"
import { call } from "../kernel/Api.ts"
import type { Release } from "../kernel/Contract.ts"
import { bodyOfEdit } from "../kernel/forms/Edit.ts"
import { resolutionOf, useEdit } from "../kernel/forms/Update.ts"
import { orNull } from "../kernel/Inputs.ts"
import { t as common } from "../kernel/texts.en.ts"
import { CheckField, TextField } from "../widgets/forms/Fields.tsx"
import { errorAt, fieldsOf } from "../widgets/forms/Form.tsx"
import { ListField, newLine } from "../widgets/forms/Order.tsx"
import type { Line } from "../widgets/forms/Order.tsx"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { RecordField } from "../widgets/records/RecordField.tsx"
import { ReviewDialog } from "../widgets/records/ReviewDialog.tsx"
import { t } from "./texts.en.ts"

const ACCESS = "PUT /api/releases/:releaseSlug/access"
const STALE = { stale: ["/api/releases", "/api/instances"] }

interface Required extends Line {
  readonly slug: string
}

interface Values {
  readonly offered: boolean
  readonly required: ReadonlyArray<Required>
}

type Policy = Pick<Release["access"], "entitlements" | "offered">

const policyOf = ({ access: { entitlements, offered } }: Release): Policy => ({ entitlements, offered })

const valuesOf = ({ entitlements, offered }: Policy): Values => ({
  offered,
  required: entitlements.map((slug) => newLine({ slug })),
})

const bodyOf = ({ offered, required }: Values) => ({
  offered,
  entitlements: required.map(({ slug }) => slug.trim()).filter((slug) => slug !== ""),
})

interface Props {
  readonly release: Release
  readonly onClose: () => void
}

const paramsOf = ({ slug }: Release) => ({ releaseSlug: slug })

export const ChangeAccess = ({ onClose, release }: Props) => {
  const params = paramsOf(release)
  const form = useEdit(policyOf(release), valuesOf, bodyOf)
  const { edit, setValues, values } = form
  const read = () => call("GET /api/releases/:releaseSlug", { params }).then(policyOf)
  return (
    <ReviewDialog
      title={t.access.change}
      submit={common.common.save}
      fields={["offered", "entitlements"]}
      onClose={onClose}
      operation={ACCESS}
      {...STALE}
      request={edit === undefined ? undefined : { params, body: edit.bodyFor(form.seen) }}
      prepare={async (typed) => (edit === undefined ? typed : { params, body: await bodyOfEdit(edit, read) })}
      resolve={(error, reset) => resolutionOf(error, form, reset)}
    >
      {(error) => (
        <>
          <CheckField
            label={t.access.offer}
            isSelected={values.offered}
            onChange={(offered) => setValues({ ...values, offered })}
          />
          <ListField
            label={t.access.requires}
            hint={t.access.requiresHint}
            rows={values.required}
            onChange={(required) => setValues({ ...values, required })}
            add={() => newLine({ slug: "" })}
            addLabel={t.access.addRequired}
            nameOf={({ slug }, index) => (slug === "" ? `${t.access.entitlement} ${index + 1}` : slug)}
            error={errorAt(error, "entitlements")}
          >
            {({ slug }, change, index) => (
              <RecordField
                kind="entitlement"
                label={`${t.access.entitlement} ${index + 1}`}
                isRequired
                autoFocus={slug === ""}
                value={slug}
                onChange={(next) => change({ slug: next })}
              />
            )}
          </ListField>
        </>
      )}
    </ReviewDialog>
  )
}

export const Withdraw = ({ onClose, release }: Props) => {
  const [values, setValues] = useState({ withdrawnReason: "" })
  return (
    <ReviewDialog
      title={t.access.withdrawTitle(release.version)}
      submit={t.access.withdraw}
      fields={["withdrawnReason"]}
      onClose={onClose}
      operation={ACCESS}
      {...STALE}
      request={{
        params: paramsOf(release),
        body: { withdrawn: true, withdrawnReason: orNull(values.withdrawnReason.trim()) },
      }}
    >
      {(error) => (
        <>
          <p>{t.access.withdrawText}</p>
          <TextField
            label={t.access.reason}
            hint={t.access.reasonHint}
            autoFocus
            {...fieldsOf(values, setValues, error)("withdrawnReason")}
          />
        </>
      )}
    </ReviewDialog>
  )
}

export const OfferAgain = ({ onClose, release }: Props) => (
  <ImpactDialog
    title={t.access.restoreTitle(release.version)}
    submit={t.access.restore}
    isDangerous={false}
    operation={ACCESS}
    request={{ params: paramsOf(release), body: { withdrawn: false } }}
    {...STALE}
    onClose={onClose}
  />
)
