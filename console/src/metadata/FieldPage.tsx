/** One metadata field: its schema as text, its form beside it, and values tried while typing. */
import { useEffect, useMemo, useState } from "react"
import { callDry } from "../kernel/Api.ts"
import type { Body, MetadataField } from "../kernel/Contract.ts"
import { formOf, isReadable, valueOf } from "../kernel/forms/SchemaForm.ts"
import type { Field } from "../kernel/forms/SchemaForm.ts"
import { bodyOfEdit } from "../kernel/forms/Edit.ts"
import { resolutionOf } from "../kernel/forms/Update.ts"
import { useChange, useRows, useWrite } from "../kernel/Queries.ts"
import { useCan, useIsAdmin } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { usePathName } from "../kernel/Url.ts"
import { announce } from "../kernel/Announcements.ts"
import { Button } from "../widgets/Button.tsx"
import { errorsOf, FormFailure } from "../widgets/forms/Form.tsx"
import { PageHead, Section } from "../widgets/Page.tsx"
import { EventList } from "../widgets/events/EventList.tsx"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { Empty, Failure, Loading, ReadOnly } from "../widgets/States.tsx"
import { Tabs } from "../widgets/Tabs.tsx"
import { Code, Moment, Tag } from "../widgets/Tag.tsx"
import { EditField, readField } from "./FieldForm.tsx"
import { schemaOf, SchemaText } from "./SchemaText.tsx"
import { TryOut } from "./TryOut.tsx"
import { t } from "./texts.en.ts"

const STALE = { stale: ["/api/metadata-fields"] }
const CHANGE = "PATCH /api/metadata-fields/:metadataFieldId"
const ARCHIVE = "POST /api/metadata-fields/:metadataFieldId/archive"

const SaveSchema = ({
  body,
  field,
  onClose,
  onSaved,
}: {
  readonly field: MetadataField
  readonly body: Body<typeof CHANGE>
  readonly onClose: () => void
  readonly onSaved: () => void
}) => {
  const request = { params: { metadataFieldId: field.id }, body }
  return (
    <ImpactDialog
      title={t.askSchema}
      submit={common.common.save}
      isDangerous={false}
      operation={CHANGE}
      request={request}
      {...STALE}
      done={onSaved}
      onClose={onClose}
    >
      <p>{t.askSchemaText}</p>
    </ImpactDialog>
  )
}

const Archive = ({ field, onClose }: { readonly field: MetadataField; readonly onClose: () => void }) => (
  <ImpactDialog
    title={t.askArchive(field.label)}
    submit={t.archive}
    operation={ARCHIVE}
    request={{ params: { metadataFieldId: field.id } }}
    {...STALE}
    onClose={onClose}
  >
    <p>{t.askArchiveText}</p>
  </ImpactDialog>
)

/** The schema and its form. What is typed into the form stays while the schema changes. */
const Editor = ({ field, mayWrite }: { readonly field: MetadataField; readonly mayWrite: boolean }) => {
  const stored = JSON.stringify(field.jsonSchema, null, 2)
  const [draft, setDraft] = useState<string>()
  // The field as it was when the first key was typed.
  const [seen, setSeen] = useState(field)
  const [typed, setTyped] = useState<{ readonly of: object | undefined; readonly form: Field }>()
  const [asking, setAsking] = useState<Body<typeof CHANGE>>()
  const text = draft ?? stored
  const schema = useMemo(() => schemaOf(text), [text])
  const form = useMemo(() => {
    if (typed?.of === schema) return typed?.form
    return formOf(schema, typed !== undefined && isReadable(typed.form) ? valueOf(typed.form) : undefined)
  }, [schema, typed])
  // The service checks the schema first, so that its errors appear at the text.
  const check = useChange(
    async (jsonSchema: MetadataField["jsonSchema"]) => {
      const replaces = ({ jsonSchema: stored }: MetadataField) => ({ jsonSchema: stored })
      const body = await bodyOfEdit({ seen, replaces, bodyFor: () => ({ jsonSchema }) }, () => readField(field))
      await callDry(CHANGE, { params: { metadataFieldId: field.id }, body })
      return body
    },
    { stale: [], done: setAsking },
  )
  const take = (stored: MetadataField) => {
    setSeen(stored)
    setDraft(undefined)
  }
  const resolution = resolutionOf(check.error, { take, keep: setSeen }, check.reset)
  const isRefused = errorsOf(check.error).length > 0
  return (
    <div className="halves">
      <Section title={t.definition}>
        <SchemaText
          text={text}
          error={check.error}
          isReadOnly={!mayWrite}
          onChange={(next) => {
            check.reset()
            if (draft === undefined) setSeen(field)
            setDraft(next)
          }}
        />
        {(resolution !== undefined || !isRefused) && (
          <FormFailure error={check.error} fields={[]} resolution={resolution} />
        )}
        {mayWrite && draft !== undefined && (
          <div className="actions">
            <Button
              look="primary"
              isDisabled={schema === undefined}
              isPending={check.isPending}
              onPress={() => {
                if (text === stored) setDraft(undefined)
                else if (schema !== undefined) check.mutate(schema)
              }}
            >
              {t.saveSchema}
            </Button>
            <Button
              onPress={() => {
                check.reset()
                setDraft(undefined)
              }}
            >
              {t.undo}
            </Button>
          </div>
        )}
      </Section>
      <Section title={t.tryValue}>
        {form === undefined || schema === undefined ? (
          <p className="muted">{t.tryBroken}</p>
        ) : (
          <TryOut
            field={field}
            form={form}
            isSaved={text === stored}
            isTyped={typed !== undefined}
            onChange={(next) => setTyped({ of: schema, form: next })}
          />
        )}
      </Section>
      {asking !== undefined && (
        <SaveSchema
          field={field}
          body={asking}
          onClose={() => setAsking(undefined)}
          onSaved={() => {
            setAsking(undefined)
            setDraft(undefined)
            announce(t.savedSchema)
          }}
        />
      )}
    </div>
  )
}

const Loaded = ({ field }: { readonly field: MetadataField }) => {
  const [dialog, setDialog] = useState<"edit" | "archive">()
  const holdsWrite = useCan("write:metadata_fields")
  const mayWrite = useIsAdmin() && holdsWrite
  const restore = useWrite("POST /api/metadata-fields/:metadataFieldId/unarchive", STALE)
  const isArchived = field.archivedAt !== undefined
  const close = () => setDialog(undefined)
  return (
    <>
      <PageHead
        title={field.label}
        crumbs={<ListLink to="/metadata-fields">{t.title}</ListLink>}
        actions={
          mayWrite && (
            <>
              <Button onPress={() => setDialog("edit")}>{common.common.edit}</Button>
              {isArchived ? (
                <Button onPress={() => restore.mutate({ params: { metadataFieldId: field.id } })}>{t.restore}</Button>
              ) : (
                <Button onPress={() => setDialog("archive")}>{t.archive}</Button>
              )}
            </>
          )
        }
      >
        <Code>{field.key}</Code>
        <span>{t.types[field.resourceType]}</span>
        {isArchived && <Tag tone="muted">{t.archived}</Tag>}
        <span>
          {common.common.updated} <Moment at={field.updatedAt} relative /> {common.common.by(field.updatedBy.name)}
        </span>
      </PageHead>
      {!holdsWrite && <ReadOnly />}
      {holdsWrite && !mayWrite && <p className="read-only">{t.adminsOnly}</p>}
      {restore.error !== null && <Failure error={restore.error} />}
      <Tabs
        label={field.label}
        items={[
          { id: "schema", title: t.schemaAndValues, content: () => <Editor field={field} mayWrite={mayWrite} /> },
          {
            id: "activity",
            title: t.activity,
            content: () => <EventList label={t.activity} filters={{ resource: [field.id] }} />,
          },
        ]}
      />
      {dialog === "edit" && <EditField field={field} onClose={close} />}
      {dialog === "archive" && <Archive field={field} onClose={close} />}
    </>
  )
}

/** Fields have no path of their own, so this reads the list until the field is there. */
export const Page = () => {
  const id = usePathName()
  const { error, hasMore, isLoadingMore, loadMore, retry, rows } = useRows("GET /api/metadata-fields", {})
  const field = rows?.find((one) => one.id === id)
  const isMissing = rows !== undefined && field === undefined
  useEffect(() => {
    if (isMissing && hasMore && !isLoadingMore) loadMore()
  }, [hasMore, isLoadingMore, isMissing, loadMore])
  if (field !== undefined) return <Loaded key={field.id} field={field} />
  return (
    <>
      <PageHead title={t.title} />
      {error !== null ? (
        <Failure error={error} retry={retry} />
      ) : isMissing && !hasMore ? (
        <Empty title={t.notFound} action={<ListLink to="/metadata-fields">{t.title}</ListLink>} />
      ) : (
        <Loading />
      )}
    </>
  )
}
