/** The metadata of a record by the fields of its kind: shown, and changed by the forms of their schemas. */
import { useCallback, useEffect, useState } from "react"
import type { MetadataField } from "../../kernel/Contract.ts"
import { editOf } from "../../kernel/forms/Edit.ts"
import type { Edit } from "../../kernel/forms/Edit.ts"
import { formOf, isReadable, valueOf } from "../../kernel/forms/SchemaForm.ts"
import type { Field } from "../../kernel/forms/SchemaForm.ts"
import { resolutionOf } from "../../kernel/forms/Update.ts"
import { useRows } from "../../kernel/Queries.ts"
import { useCan } from "../../kernel/Scopes.ts"
import { t as common } from "../../kernel/texts.en.ts"
import { Button } from "../Button.tsx"
import { CheckField } from "../forms/Fields.tsx"
import { errorsOf, FormDialog } from "../forms/Form.tsx"
import type { WriteState } from "../forms/Form.tsx"
import { SchemaFields } from "../forms/SchemaFields.tsx"
import { Facts } from "../Page.tsx"
import { Empty, NotAllowed, Read } from "../States.tsx"
import { Code } from "../Tag.tsx"
import { ListLink } from "./Links.tsx"
import { t } from "./texts.en.ts"

type Metadata = Readonly<Record<string, unknown>>

interface Described {
  readonly metadata: Metadata
}

interface Update<R> extends WriteState {
  readonly isSuccess: boolean
  readonly reset: () => void
  readonly isDrafting: () => boolean
  readonly save: (edit: Edit<R, Partial<Described>>) => void
}

interface MetadataTabProps<R extends Described> {
  readonly resourceType: MetadataField["resourceType"]
  readonly record: R
  readonly mayWrite: boolean
  readonly update: Update<R>
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

/** The fields that apply: of those with one key, the active one. */
const isActive = ({ archivedAt }: MetadataField) => archivedAt === undefined

/** One form of all fields. Nothing is required, as metadata may leave any out. */
const formOfAll = (fields: ReadonlyArray<MetadataField>, metadata: Metadata): Field => {
  const members = fields.map(({ jsonSchema, key, label }) => {
    const member = formOf(jsonSchema, Object.hasOwn(metadata, key) ? metadata[key] : undefined, false)
    return [key, { ...member, title: label }] as const
  })
  const common = { title: undefined, description: undefined, fallback: undefined, isRequired: true, isSecret: false }
  return { ...common, kind: "object", blank: {}, members }
}

/** The keys that no form shows: those without a field, or whose field is archived. */
const othersOf = (fields: ReadonlyArray<MetadataField>, metadata: Metadata): ReadonlyArray<string> =>
  Object.keys(metadata).filter((key) => fields.every((field) => field.key !== key))

/** What is typed and kept, of all keys. */
const metadataOf = (form: Field, others: ReadonlyArray<string>, metadata: Metadata): Metadata => ({
  ...Object.fromEntries(others.map((key) => [key, metadata[key]])),
  ...Object(valueOf(form)),
})

/** Changes the keys that the person changed. All others are sent as they are stored now. */
const EditMetadata = <R extends Described>({
  fields,
  onClose,
  record,
  update,
}: Pick<MetadataTabProps<R>, "record" | "update"> & {
  readonly fields: ReadonlyArray<MetadataField>
  readonly onClose: () => void
}) => {
  const [active] = useState(() => fields.filter(isActive))
  const [seen, setSeen] = useState(record)
  const [form, setForm] = useState(() => formOfAll(active, record.metadata))
  const [removed, setRemoved] = useState<ReadonlyArray<string>>([])
  const others = othersOf(active, seen.metadata)
  const kept = others.filter((key) => !removed.includes(key))
  const changed = (): Edit<R, Partial<Described>> | undefined => {
    const before = metadataOf(formOfAll(active, seen.metadata), others, seen.metadata)
    const after = metadataOf(form, kept, seen.metadata)
    return editOf({
      seen,
      before: { metadata: before },
      after: { metadata: after },
      storedIn: (stored) => stored,
      merged: ["metadata"],
    })
  }
  const take = (stored: R) => {
    setSeen(stored)
    setForm(formOfAll(active, stored.metadata))
    setRemoved([])
  }
  const keep = (stored: R) => {
    const { metadata = stored.metadata } = changed()?.bodyFor(stored) ?? stored
    setSeen(stored)
    setForm(formOfAll(active, metadata))
  }
  return (
    <FormDialog
      title={t.metadata.edit}
      submit={common.common.save}
      fields={["metadata"]}
      onClose={onClose}
      write={update}
      resolution={resolutionOf(update.error, { take, keep }, update.reset)}
      isDisabled={!isReadable(form)}
      onSubmit={() => {
        const edit = changed()
        if (edit !== undefined) update.save(edit)
        else if (!update.isDrafting()) onClose()
      }}
    >
      <SchemaFields field={form} onChange={setForm} errors={errorsOf(update.error)} at="body.metadata" />
      {others.map((key) => (
        <CheckField
          key={key}
          label={t.metadata.keep(key, textOf(seen.metadata[key]))}
          isSelected={!removed.includes(key)}
          onChange={(isKept) => setRemoved(isKept ? removed.filter((other) => other !== key) : [...removed, key])}
        />
      ))}
    </FormDialog>
  )
}

export const MetadataTab = <R extends Described>(props: MetadataTabProps<R>) => {
  const { mayWrite, record, resourceType, update } = props
  const { metadata } = record
  const mayRead = useCan("read:metadata_fields")
  const { error, hasMore, loadMore, retry, rows } = useRows(
    "GET /api/metadata-fields",
    { query: { resourceType } },
    { when: mayRead },
  )
  const [isEditing, setEditing] = useState(false)
  const { isSuccess, reset } = update
  const close = useCallback(() => {
    setEditing(false)
    reset()
  }, [reset])
  useEffect(() => {
    if (isSuccess) close()
  }, [close, isSuccess])
  const labelOf = (key: string) => {
    const ofKey = (rows ?? []).filter((field) => field.key === key)
    const field = ofKey.find(isActive) ?? ofKey[0]
    return field === undefined ? key : isActive(field) ? field.label : t.metadata.archived(field.label)
  }
  const values = Object.entries(metadata)
  const shown = (
    <Facts items={values.map(([key, value]) => [labelOf(key), <Code key={key}>{textOf(value)}</Code>] as const)} />
  )
  if (!mayRead) return values.length === 0 ? <NotAllowed scope="read:metadata_fields" /> : shown
  return (
    <Read of={{ data: rows, error, refetch: retry }} rows={2}>
      {(fields) =>
        fields.length === 0 && values.length === 0 ? (
          <Empty title={t.metadata.empty} action={<ListLink to="/metadata-fields">{common.nav.metadata}</ListLink>}>
            {t.metadata.emptyDetail}
          </Empty>
        ) : (
          <>
            <div className="tab-tools">
              {mayWrite && <Button onPress={() => setEditing(true)}>{t.metadata.edit}</Button>}
              {hasMore && <Button onPress={loadMore}>{common.common.more}</Button>}
            </div>
            {values.length === 0 ? <p className="muted">{t.metadata.none}</p> : shown}
            {isEditing && <EditMetadata record={record} update={update} fields={fields} onClose={close} />}
          </>
        )
      }
    </Read>
  )
}
