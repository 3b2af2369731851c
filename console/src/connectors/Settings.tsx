/** The settings of a connector: a form from its schema. Stored secrets stay unless new ones are typed. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { call, Problem } from "../kernel/Api.ts"
import { editOf } from "../kernel/forms/Edit.ts"
import type { Edit } from "../kernel/forms/Edit.ts"
import { formOf, isReadable, KEPT, valueOf } from "../kernel/forms/SchemaForm.ts"
import type { Field } from "../kernel/forms/SchemaForm.ts"
import { resolutionOf, useFollow, useUpdate } from "../kernel/forms/Update.ts"
import { keyOf, useRead, useWrite } from "../kernel/Queries.ts"
import type { Answer } from "../kernel/Contract.ts"
import { t as common } from "../kernel/texts.en.ts"
import { announce } from "../kernel/Announcements.ts"
import { Button } from "../widgets/Button.tsx"
import { ConfirmDialog, errorsOf, Form, FormFailure } from "../widgets/forms/Form.tsx"
import { SchemaFields } from "../widgets/forms/SchemaFields.tsx"
import { Section } from "../widgets/Page.tsx"
import { Failure, Loading } from "../widgets/States.tsx"
import { Moment, Tag } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

const SETTINGS = "GET /api/connectors/:connectorName/settings"

type Schema = Answer<"GET /api/connectors/:connectorName/settings/schema">
type Record = Answer<typeof SETTINGS>

const STALE = { stale: ["/api/connectors"] }

const Delete = ({ name, onClose }: { readonly name: string; readonly onClose: () => void }) => {
  const write = useWrite("DELETE /api/connectors/:connectorName/settings", { ...STALE, done: onClose })
  return (
    <ConfirmDialog
      title={t.askRemove}
      submit={common.common.remove}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { connectorName: name } })}
    >
      <p>{t.removeText}</p>
    </ConfirmDialog>
  )
}

const Test = ({ isChanged, name }: { readonly name: string; readonly isChanged: boolean }) => {
  const test = useWrite("POST /api/connectors/:connectorName/test", { stale: [] })
  const { data, error, isPending } = test
  return (
    <Section title={t.testTitle}>
      <p className="muted">{isChanged ? t.unsaved : t.testHint}</p>
      <div>
        <Button isPending={isPending} onPress={() => test.mutate({ params: { connectorName: name } })}>
          {t.test}
        </Button>
      </div>
      <div role="status">
        {isPending ? (
          <p className="muted">{t.testing}</p>
        ) : (
          data !== undefined && (
            <p className="inline">
              <Tag tone={data.status === "succeeded" ? "ok" : "danger"}>{t[data.status]}</Tag>
              <span>{data.message}</span>
              <Moment at={data.checkedAt} />
            </p>
          )
        )}
      </div>
      {error !== null && <Failure error={error} />}
    </Section>
  )
}

type Settings = Record["settings"]
type Change = { readonly settings: Settings }

/** A stored secret has one text whatever it is, so another time of the record stands for another secret. */
const withSecrets = (values: object, record: Record | null): object =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) =>
      JSON.stringify(value)?.includes(KEPT) ? [name, `${KEPT} (${record?.updatedAt})`] : [name, value],
    ),
  )

/** The settings of a form, which it changes one by one: others stay as they are stored. */
const useSettingsForm = (schema: Schema, record: Record | null) => {
  const start = (seen: Record | null) => ({ seen, form: formOf(schema.schema, seen?.settings), isChanged: false })
  const [state, set] = useState(() => start(record))
  const { form, isChanged, seen } = state
  useFollow(record, !isChanged, () => set(start(record)))
  const changed = (): Edit<Record | null, Change> | undefined => {
    const after: Settings = { ...Object(valueOf(form)) }
    if (seen === null) {
      return { seen, replaces: (stored) => ({ settings: stored?.settings }), bodyFor: () => ({ settings: after }) }
    }
    const before: Settings = { ...Object(valueOf(formOf(schema.schema, seen.settings))) }
    const storedIn = (stored: Record | null) => ({ settings: stored?.settings ?? {} })
    const edit = editOf<Record | null, Change>({
      seen,
      before: { settings: before },
      after: { settings: after },
      storedIn,
      merged: ["settings"],
    })
    return (
      edit && {
        seen,
        replaces: (stored) => withSecrets(edit.replaces(stored), stored),
        bodyFor: (stored) => ({ settings: edit.bodyFor(stored).settings ?? after }),
      }
    )
  }
  return {
    form,
    isChanged,
    changed,
    change: (next: Field) => set({ seen, form: next, isChanged: true }),
    undo: () => set(start(record)),
    take: (stored: Record | null) => set(start(stored)),
    keep: (stored: Record | null) => {
      const settings = changed()?.bodyFor(stored).settings ?? stored?.settings
      set({ seen: stored, form: formOf(schema.schema, settings), isChanged: true })
    },
  }
}

const Loaded = ({
  mayWrite,
  name,
  record,
  schema,
}: {
  readonly name: string
  readonly schema: Schema
  readonly record: Record | null
  readonly mayWrite: boolean
}) => {
  const settings = useSettingsForm(schema, record)
  const { form, isChanged } = settings
  const [isDeleting, setDeleting] = useState(false)
  const params = { connectorName: name }
  const update = useUpdate("PUT /api/connectors/:connectorName/settings", {
    read: () => readSettings(params),
    request: (body: Change) => ({ params, body }),
    ...STALE,
    done: (saved) => {
      // Without the secrets that were typed: the service keeps them from here on.
      if (saved !== undefined) settings.take(saved)
      announce(t.saved)
    },
  })
  return (
    <div className="halves">
      <Section title={t.settings}>
        <p className="muted">
          {record === null ? (
            t.noSettings
          ) : (
            <>
              {common.common.updated} <Moment at={record.updatedAt} /> {common.common.by(record.updatedBy.name)}
            </>
          )}
        </p>
        {mayWrite ? (
          <Form
            onSubmit={() => {
              if (!update.isPending && isReadable(form)) update.save(settings.changed())
            }}
          >
            <SchemaFields field={form} onChange={settings.change} errors={errorsOf(update.error)} at="body.settings" />
            <FormFailure
              error={update.error}
              fields={["settings"]}
              resolution={resolutionOf(update.error, settings, update.reset)}
            />
            <div className="actions">
              <Button type="submit" look="primary" isPending={update.isPending} isDisabled={!isReadable(form)}>
                {t.save}
              </Button>
              {isChanged && (
                <Button
                  onPress={() => {
                    settings.undo()
                    update.reset()
                  }}
                >
                  {t.undo}
                </Button>
              )}
              {record !== null && <Button onPress={() => setDeleting(true)}>{t.removeSettings}</Button>}
            </div>
          </Form>
        ) : (
          record !== null && (
            <pre tabIndex={0} role="region" aria-label={t.settings}>
              {JSON.stringify(record.settings, null, 2)}
            </pre>
          )
        )}
      </Section>
      {mayWrite && record !== null && <Test name={name} isChanged={isChanged} />}
      {isDeleting && <Delete name={name} onClose={() => setDeleting(false)} />}
    </div>
  )
}

type Params = { readonly connectorName: string }

/**
 * The stored settings, or `null`. That there are none is an answer, not an error: reading them again must not take away the form,
 * and what was typed into it.
 */
const readSettings = async (params: Params, signal?: AbortSignal): Promise<Record | null> => {
  try {
    return await call(SETTINGS, { params }, { signal })
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return null
    throw error
  }
}

/** The stored settings, or `null`. */
export const useSettings = (params: Params) =>
  useQuery<Record | null>({
    queryKey: keyOf(SETTINGS, { params }),
    queryFn: ({ signal }) => readSettings(params, signal),
  })

export const Settings = ({ mayWrite, name }: { readonly name: string; readonly mayWrite: boolean }) => {
  const params = { connectorName: name }
  const schema = useRead("GET /api/connectors/:connectorName/settings/schema", { params })
  const record = useSettings(params)
  const error = schema.error ?? record.error
  if (error !== null && (schema.data === undefined || record.data === undefined)) {
    return (
      <Failure
        error={error}
        retry={() => {
          void schema.refetch()
          void record.refetch()
        }}
      />
    )
  }
  if (schema.data === undefined || record.data === undefined) return <Loading />
  // Another version of the schema is another form; stored settings replace it only when they appear or go.
  const key = `${schema.data.version} ${record.data === null}`
  return <Loaded key={key} name={name} schema={schema.data} record={record.data} mayWrite={mayWrite} />
}
