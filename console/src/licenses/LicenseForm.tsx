/** Creates a family with its first version, or a version of a family; changes a version behind its dry run. */
import { useState } from "react"
import { call } from "../kernel/Api.ts"
import type { Body, License } from "../kernel/Contract.ts"
import { bodyOfEdit } from "../kernel/forms/Edit.ts"
import { resolutionOf, useEdit } from "../kernel/forms/Update.ts"
import { numberOf, orNull, orUndefined, proseOrNull } from "../kernel/Inputs.ts"
import { defined, useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { DurationField } from "../widgets/forms/DurationField.tsx"
import { CheckField, Fieldset, SelectField, TextField } from "../widgets/forms/Fields.tsx"
import { errorAt, fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { ReviewDialog } from "../widgets/records/ReviewDialog.tsx"
import { t } from "./texts.en.ts"

const TEXTS = ["name", "slug", "type", "versionName", "description", "graceDays", "lifecycleState"] as const
const FIELDS = [...TEXTS, "isDefault", "away"]

type Away = License["away"]

type Values = Readonly<Record<(typeof TEXTS)[number], string>> & {
  readonly isDefault: boolean
  readonly staleSeconds: string
  readonly then: string
}

/** What the service takes for a new license. */
const NEW_AWAY: Away = { staleSeconds: 604_800, then: "DENY" }

const STALE = { stale: ["/api/license", "/api/instances"] }

const initial = (license: License | undefined): Values => ({
  name: license?.name ?? "",
  slug: "",
  type: license?.type ?? "PAID",
  versionName: license?.versionName ?? "",
  description: license?.description ?? "",
  graceDays: String(license?.graceDays ?? 0),
  lifecycleState: "DRAFT",
  isDefault: false,
  staleSeconds: String((license?.away ?? NEW_AWAY).staleSeconds),
  then: (license?.away ?? NEW_AWAY).then,
})

const bodyOf = (values: Values) => ({
  name: values.name,
  type: values.type as License["type"],
  versionName: orNull(values.versionName),
  description: proseOrNull(values.description),
  graceDays: numberOf(values.graceDays),
  away: { staleSeconds: numberOf(values.staleSeconds), then: values.then as Away["then"] },
})

const typeChoices = Object.entries(t.types).map(([id, title]) => ({ id, title }))
const answerChoices = (["DENY", "ALLOW"] as const).map((id) => ({ id, title: t.away.answers[id] }))
const stateChoices = (["DRAFT", "PUBLISHED"] as const).map((id) => ({ id, title: t.states[id] }))

const Fields = ({
  error,
  onChange,
  slugHint,
  values,
}: {
  readonly values: Values
  readonly onChange: (values: Values) => void
  readonly error: unknown
  /** Of a new version. */
  readonly slugHint?: string
}) => {
  const field = fieldsOf(values, onChange, error)
  return (
    <>
      <TextField label={common.common.name} isRequired autoFocus {...field("name")} />
      {slugHint !== undefined && <TextField label={common.common.slug} hint={slugHint} isCode {...field("slug")} />}
      <div className="form-row">
        <SelectField label={t.type} {...field("type")} choices={typeChoices} />
        <TextField kind="decimal" label={t.grace} hint={t.graceHint} isRequired {...field("graceDays")} />
      </div>
      <Fieldset label={t.away.title} hint={t.away.hint}>
        <DurationField
          label={t.away.stale}
          hint={t.away.staleHint}
          isRequired
          {...field("staleSeconds")}
          error={errorAt(error, "away.staleSeconds")}
        />
        <SelectField
          label={t.away.then}
          {...field("then")}
          choices={answerChoices}
          error={errorAt(error, "away.then")}
        />
      </Fieldset>
      <TextField label={t.versionName} {...field("versionName")} />
      <TextField label={common.common.description} {...field("description")} />
      {slugHint !== undefined && (
        <SelectField
          label={t.startsAs}
          hint={t.startsAsHint}
          {...field("lifecycleState")}
          onChange={(lifecycleState) =>
            // A draft cannot be the default.
            onChange({
              ...values,
              lifecycleState,
              isDefault: lifecycleState === "PUBLISHED" && values.isDefault,
            })
          }
          choices={stateChoices}
        />
      )}
      {slugHint !== undefined && values.lifecycleState === "PUBLISHED" && (
        <CheckField
          label={t.makeDefault}
          isSelected={values.isDefault}
          onChange={(isDefault) => onChange({ ...values, isDefault })}
        />
      )}
    </>
  )
}

/** A new license, or with a version of its family the next one, which begins with the same facts. */
export const CreateLicense = ({
  like,
  onClose,
  onCreated,
}: {
  readonly like?: License
  readonly onClose: () => void
  readonly onCreated: (slug: string) => void
}) => {
  const [values, setValues] = useState<Values>(() => ({ ...initial(like), versionName: "" }))
  const write = useWrite("POST /api/licenses", { ...STALE, done: ({ slug }) => onCreated(slug) })
  return (
    <FormDialog
      title={like === undefined ? t.create : t.newVersionTitle(like.familySlug)}
      submit={common.common.create}
      fields={FIELDS}
      onClose={onClose}
      write={write}
      onSubmit={() =>
        write.mutate({
          body: defined({
            ...bodyOf(values),
            slug: orUndefined(values.slug),
            familySlug: like?.familySlug,
            lifecycleState: values.lifecycleState as Body<"POST /api/licenses">["lifecycleState"] & {},
            isDefault: values.isDefault,
          }),
        })
      }
    >
      <p className="hint">{like === undefined ? t.createText : t.newVersionText}</p>
      <Fields
        values={values}
        onChange={setValues}
        error={write.error}
        slugHint={like === undefined ? common.common.slugHint : t.slugOfVersionHint}
      />
    </FormDialog>
  )
}

const UPDATE = "PUT /api/licenses/:licenseSlug"

export const EditLicense = ({ license, onClose }: { readonly license: License; readonly onClose: () => void }) => {
  const params = { licenseSlug: license.slug }
  const form = useEdit(license, initial, bodyOf, ["away"])
  const { edit } = form
  const read = () => call("GET /api/licenses/:licenseSlug", { params })
  return (
    <ReviewDialog
      title={t.edit}
      submit={common.common.save}
      fields={FIELDS}
      onClose={onClose}
      operation={UPDATE}
      {...STALE}
      request={edit === undefined ? undefined : { params, body: edit.bodyFor(form.seen) }}
      prepare={async (typed) => (edit === undefined ? typed : { params, body: await bodyOfEdit(edit, read) })}
      resolve={(error, reset) => resolutionOf(error, form, reset)}
    >
      {(error) => <Fields values={form.values} onChange={form.setValues} error={error} />}
    </ReviewDialog>
  )
}
