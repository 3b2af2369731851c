/** Changes what the license grants of an entitlement, for one instance: with a look at what comes out. */
import { useState } from "react"
import { approximate, formatAmount, sum } from "../kernel/Amount.ts"
import type { Body, Entitlement, Override } from "../kernel/Contract.ts"
import { formatBoundary } from "../kernel/Formats.ts"
import { resolutionOf, useUpdate } from "../kernel/forms/Update.ts"
import { orNull, orUndefinedNumber, proseOrNull } from "../kernel/Inputs.ts"
import { defined, readAll, useAllRows, useQuiet, useRead, useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { SelectField, TextField } from "../widgets/forms/Fields.tsx"
import { fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { MomentField } from "../widgets/forms/MomentField.tsx"
import { grantOfInput, grantText, GrantValueField } from "../widgets/records/GrantValue.tsx"
import { t } from "./texts.en.ts"

export const OVERRIDES = "GET /api/instances/:instanceSlug/overrides"

const FIELDS = ["entitlement", "mode", "value", "overagePercent", "endsAt", "reason"] as const
type Values = Readonly<Record<(typeof FIELDS)[number], string>>

/** What an override does to the value of the license. */
export const valueText = ({ mode, value }: Override): string => {
  if (typeof value !== "number" && typeof value !== "string") return grantText(value)
  return mode === "ADD" ? `+${grantText(value)}` : `= ${grantText(value)}`
}

/** The type of the entitlement; `undefined` until it is known. */
const useType = (entitlementSlug: string): Entitlement["type"] | undefined => {
  const mayRead = useCan("read:entitlements")
  const { data } = useRead(
    "GET /api/entitlements/:entitlementSlug",
    { params: { entitlementSlug } },
    { when: mayRead && entitlementSlug !== "" },
  )
  return data?.slug === entitlementSlug ? data.type : undefined
}

/** What comes out: the number of the license, and the one with the override. */
const Result = ({ licenseSlug, values }: { readonly licenseSlug: string; readonly values: Values }) => {
  const grants = useAllRows(useRows("GET /api/licenses/:licenseSlug/entitlements", { params: { licenseSlug } }))
  const base = grants.rows?.find(({ entitlementSlug }) => entitlementSlug === values.entitlement.trim())?.value
  const value = grantOfInput(values.value)
  if (base === undefined || typeof base === "object" || typeof value !== "number" || !Number.isFinite(value))
    return null
  const until = values.endsAt === "" ? "" : t.overrides.result.until(formatBoundary(values.endsAt))
  if (values.mode !== "ADD" || typeof base === "boolean")
    return <p className="hint">{t.overrides.result.set(grantText(base), grantText(value)) + until}</p>
  if (approximate(base) === -1) return <p className="hint">{t.overrides.result.unlimited}</p>
  const total = t.overrides.result.plus(formatAmount(base), formatAmount(value), formatAmount(sum(base, value)))
  return <p className="hint">{total + until}</p>
}

/** The override that another one for the entitlement would end. */
const inForce = (overrides: ReadonlyArray<Override>, slug: string) => {
  const found = overrides.find(({ endedAt, entitlement }) => entitlement === slug && endedAt === null)
  return found === undefined ? null : valueText(found)
}

export const OverrideForm = ({
  entitlements,
  instanceSlug,
  licenseSlug,
  onClose,
  shown,
}: {
  readonly instanceSlug: string
  readonly licenseSlug: string
  readonly entitlements: ReadonlyArray<string>
  /** The overrides that the person sees. */
  readonly shown: ReadonlyArray<Override>
  readonly onClose: () => void
}) => {
  const [values, setValues] = useState<Values>({
    entitlement: entitlements[0] ?? "",
    mode: "ADD",
    value: "",
    overagePercent: "",
    endsAt: "",
    reason: "",
  })
  const [seen, setSeen] = useState(shown)
  const type = useType(useQuiet(values.entitlement.trim()))
  const isNumber = type === undefined || type === "NUMBER"
  const slug = values.entitlement.trim()
  const update = useUpdate("PUT /api/instances/:instanceSlug/entitlements/:entitlementSlug/override", {
    read: () => readAll(OVERRIDES, { params: { instanceSlug } }),
    request: (body: Body<"PUT /api/instances/:instanceSlug/entitlements/:entitlementSlug/override">) => ({
      params: { instanceSlug, entitlementSlug: slug },
      body,
    }),
    stale: ["/api/instances"],
    done: onClose,
  })
  const field = fieldsOf(values, setValues, update.error)
  return (
    <FormDialog
      title={t.overrides.add}
      submit={common.common.save}
      fields={FIELDS}
      onClose={onClose}
      write={update}
      resolution={resolutionOf(update.error, { take: onClose, keep: setSeen }, update.reset)}
      onSubmit={() =>
        update.save({
          seen,
          replaces: (overrides) => ({ value: inForce(overrides, slug) }),
          bodyFor: () =>
            defined({
              mode: isNumber && values.mode === "ADD" ? ("ADD" as const) : ("SET" as const),
              value: grantOfInput(values.value),
              overagePercent: orUndefinedNumber(values.overagePercent),
              endsAt: orNull(values.endsAt),
              reason: proseOrNull(values.reason),
            }),
        })
      }
    >
      <TextField label={t.usage.entitlement} isCode isRequired autoFocus {...field("entitlement")} />
      <div className="form-row">
        {isNumber && (
          <SelectField
            label={t.overrides.mode}
            {...field("mode")}
            choices={[
              { id: "ADD", title: t.overrides.plus },
              { id: "SET", title: t.overrides.set },
            ]}
          />
        )}
        <GrantValueField type={type} {...field("value")} />
      </div>
      <Result licenseSlug={licenseSlug} values={values} />
      <div className="form-row">
        {isNumber && <TextField kind="decimal" label={t.overrides.overage} {...field("overagePercent")} />}
        <MomentField label={t.overrides.until} {...field("endsAt")} />
      </div>
      <TextField label={t.overrides.reason} {...field("reason")} />
    </FormDialog>
  )
}
