/** Grants an entitlement, changes what is granted, and removes a grant: each behind its dry run. */
import { useState } from "react"
import type { Entitlement, Grant } from "../kernel/Contract.ts"
import { bodyOfEdit } from "../kernel/forms/Edit.ts"
import { resolutionOf, useEdit } from "../kernel/forms/Update.ts"
import { numberOf, orUndefinedNumber } from "../kernel/Inputs.ts"
import { defined, foundIn, readAll, useRead } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { SelectField, TextField } from "../widgets/forms/Fields.tsx"
import { errorAt } from "../widgets/forms/Form.tsx"
import { grantOfInput, GrantValueField, inputOfGrant } from "../widgets/records/GrantValue.tsx"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { RecordField } from "../widgets/records/RecordField.tsx"
import { ReviewDialog } from "../widgets/records/ReviewDialog.tsx"
import { t } from "./texts.en.ts"

const FIELDS = ["entitlementSlug", "value", "overagePercent", "combine"]
const STALE = { stale: ["/api/license", "/api/instances"] }

const ASSIGN = "POST /api/licenses/:licenseSlug/entitlements"
const UPDATE = "PUT /api/licenses/:licenseSlug/entitlements/:entitlementSlug"
const REMOVE = "DELETE /api/licenses/:licenseSlug/entitlements/:entitlementSlug"

/** The type of an entitlement, as far as the caller may read it and it exists. */
const useType = (slug: string, isKnown: boolean): Entitlement["type"] | undefined => {
  const mayRead = useCan("read:entitlements")
  const entitlement = useRead(
    "GET /api/entitlements/:entitlementSlug",
    { params: { entitlementSlug: slug } },
    { when: mayRead && isKnown },
  )
  return entitlement.data?.slug === slug ? entitlement.data.type : undefined
}

/** A value of another type is not kept: `true` is not an amount. */
const firstValue: Readonly<Record<Entitlement["type"], string>> = { NUMBER: "", BOOLEAN: "true", CONFIG: "{}" }

const ValueFields = ({
  error,
  onOverage,
  onValue,
  overage,
  type,
  value,
}: {
  readonly type: Entitlement["type"] | undefined
  readonly value: string
  readonly onValue: (value: string) => void
  readonly overage: string
  readonly onOverage: (overage: string) => void
  readonly error: unknown
}) => (
  <>
    <GrantValueField type={type} value={value} onChange={onValue} error={errorAt(error, "value")} />
    {(type === undefined || type === "NUMBER") && (
      <TextField
        kind="decimal"
        label={t.overage}
        hint={t.grants.overageHint}
        value={overage}
        onChange={onOverage}
        error={errorAt(error, "overagePercent")}
      />
    )}
  </>
)

type Combine = NonNullable<Grant["combine"]>

const combineChoices = Object.entries(t.grants.combines).map(([id, title]) => ({ id, title }))

/** How an add-on changes what is granted without it. */
const CombineField = ({
  choices = combineChoices,
  error,
  onChange,
  value,
}: {
  readonly choices?: ReadonlyArray<{ readonly id: string; readonly title: string }>
  readonly value: string
  readonly onChange: (value: string) => void
  readonly error: unknown
}) => (
  <SelectField
    label={t.grants.combine}
    value={value}
    onChange={onChange}
    choices={choices}
    error={errorAt(error, "combine")}
  />
)

export const AddGrant = ({
  isAddOn,
  licenseSlug,
  onClose,
}: {
  readonly licenseSlug: string
  readonly isAddOn: boolean
  readonly onClose: () => void
}) => {
  const [entitlement, setEntitlement] = useState("")
  const [chosen, setChosen] = useState("")
  const [typed, setTyped] = useState<string>()
  const [overage, setOverage] = useState("")
  const [combine, setCombine] = useState("")
  const slug = entitlement.trim()
  const type = useType(slug, slug !== "" && slug === chosen)
  const value = typed ?? (type === undefined ? "" : firstValue[type])
  const request = {
    params: { licenseSlug },
    body: defined({
      entitlementSlug: slug,
      value: grantOfInput(value),
      overagePercent: orUndefinedNumber(overage),
      combine: combine === "" ? undefined : (combine as Combine),
    }),
  }
  return (
    <ReviewDialog
      title={t.grants.add}
      submit={t.grants.submit}
      fields={FIELDS}
      onClose={onClose}
      operation={ASSIGN}
      {...STALE}
      request={request}
    >
      {(error) => (
        <>
          <p className="hint">{t.grants.applies}</p>
          <RecordField
            kind="entitlement"
            label={t.entitlement}
            isRequired
            autoFocus
            value={entitlement}
            onChange={setEntitlement}
            onChoose={(one) => {
              setChosen(one)
              setTyped(undefined)
            }}
            error={errorAt(error, "entitlementSlug")}
          />
          <ValueFields
            type={type}
            value={value}
            onValue={setTyped}
            overage={overage}
            onOverage={setOverage}
            error={error}
          />
          {isAddOn && (
            <CombineField
              choices={[{ id: "", title: t.grants.byDefault }, ...combineChoices]}
              value={combine}
              onChange={setCombine}
              error={error}
            />
          )}
        </>
      )}
    </ReviewDialog>
  )
}

interface GrantProps {
  readonly licenseSlug: string
  readonly grant: Grant
  readonly onClose: () => void
}

const GRANTS = "GET /api/licenses/:licenseSlug/entitlements"

interface Values {
  readonly value: string
  readonly overage: string
  /** Of an add-on; otherwise empty. */
  readonly combine: string
}

export const ChangeGrant = ({ grant, licenseSlug, onClose }: GrantProps) => {
  const { entitlementSlug } = grant
  const params = { licenseSlug, entitlementSlug }
  const form = useEdit(
    grant,
    ({ combine = "" as const, overagePercent, value }): Values => ({
      value: inputOfGrant(value),
      overage: overagePercent === null ? "" : String(overagePercent),
      combine,
    }),
    ({ combine, overage, value }) =>
      defined({
        value: grantOfInput(value),
        // An add-on may state none.
        overagePercent: combine !== "" && overage.trim() === "" ? null : numberOf(overage),
        combine: combine === "" ? undefined : (combine as Combine),
      }),
  )
  const { edit, setValues, values } = form
  const type = useType(entitlementSlug, true)
  // A grant has no path to read.
  const read = async () =>
    foundIn(await readAll(GRANTS, { params: { licenseSlug } }), (one) => one.entitlementSlug === entitlementSlug)
  return (
    <ReviewDialog
      title={t.grants.changeTitle(entitlementSlug)}
      submit={t.grants.save}
      fields={FIELDS}
      onClose={onClose}
      operation={UPDATE}
      {...STALE}
      request={edit === undefined ? undefined : { params, body: edit.bodyFor(form.seen) }}
      prepare={async (typed) => (edit === undefined ? typed : { params, body: await bodyOfEdit(edit, read) })}
      resolve={(error, reset) => resolutionOf(error, form, reset)}
    >
      {(error) => (
        <>
          <p className="hint">{t.grants.applies}</p>
          <ValueFields
            type={type}
            value={values.value}
            onValue={(value) => setValues({ ...values, value })}
            overage={values.overage}
            onOverage={(overage) => setValues({ ...values, overage })}
            error={error}
          />
          {grant.combine !== undefined && (
            <CombineField
              value={values.combine}
              onChange={(combine) => setValues({ ...values, combine })}
              error={error}
            />
          )}
        </>
      )}
    </ReviewDialog>
  )
}

export const RemoveGrant = ({ grant, licenseSlug, onClose }: GrantProps) => {
  return (
    <ImpactDialog
      title={t.grants.removeTitle(grant.entitlementSlug)}
      submit={t.grants.remove}
      operation={REMOVE}
      request={{ params: { licenseSlug, entitlementSlug: grant.entitlementSlug } }}
      {...STALE}
      onClose={onClose}
    >
      <p>{t.grants.applies}</p>
    </ImpactDialog>
  )
}
