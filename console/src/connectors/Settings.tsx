/** The settings of a connector: a form from its schema. Stored secrets stay unless new ones are typed. */
import { useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { call, Problem } from "../kernel/Api.ts"
import { formOf, isReadable, valueOf } from "../kernel/forms/SchemaForm.ts"
import type { Field } from "../kernel/forms/SchemaForm.ts"
import { keyOf, useRead, useWrite } from "../kernel/Queries.ts"
import type { Answer } from "../kernel/Contract.ts"
import { t as common } from "../kernel/texts.en.ts"
import { announce } from "../widgets/Announcer.tsx"
import { Button } from "../widgets/Button.tsx"
import { ConfirmDialog, errorsOf } from "../widgets/forms/Form.tsx"
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
      <Button isPending={isPending} onPress={() => test.mutate({ params: { connectorName: name } })}>
        {t.test}
      </Button>
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

const Loaded = ({
  mayWrite,
  name,
  record,
  schema,
}: {
  readonly name: string
  readonly schema: Schema
  readonly record: Record | undefined
  readonly mayWrite: boolean
}) => {
  const initial = (): Field => formOf(schema.schema, record?.settings)
  const [form, setForm] = useState(initial)
  const [isChanged, setChanged] = useState(false)
  const [isDeleting, setDeleting] = useState(false)
  const write = useWrite("PUT /api/connectors/:connectorName/settings", {
    ...STALE,
    done: ({ settings }) => {
      // Without the secrets that were typed: the service keeps them from here on.
      setForm(formOf(schema.schema, settings))
      setChanged(false)
      announce(t.saved)
    },
  })
  const change = (next: Field) => {
    setForm(next)
    setChanged(true)
  }
  const save = () => {
    const settings = { ...Object(valueOf(form)) }
    write.mutate({ params: { connectorName: name }, body: { settings } })
  }
  return (
    <div className="halves">
      <Section title={t.settings}>
        <p className="muted">
          {record === undefined ? (
            t.noSettings
          ) : (
            <>
              {common.common.updated} <Moment at={record.updatedAt} /> {common.common.by(record.updatedBy.name)}
            </>
          )}
        </p>
        {mayWrite ? (
          <form
            className="form"
            noValidate
            onSubmit={(event) => {
              event.preventDefault()
              if (!write.isPending && isReadable(form)) save()
            }}
          >
            <SchemaFields field={form} onChange={change} errors={errorsOf(write.error)} at="body.settings" />
            {write.error !== null && errorsOf(write.error).length === 0 && <Failure error={write.error} />}
            <div className="actions">
              <Button type="submit" look="primary" isPending={write.isPending} isDisabled={!isReadable(form)}>
                {t.save}
              </Button>
              {isChanged && (
                <Button
                  onPress={() => {
                    setForm(initial)
                    setChanged(false)
                    write.reset()
                  }}
                >
                  {t.undo}
                </Button>
              )}
              {record !== undefined && <Button onPress={() => setDeleting(true)}>{t.removeSettings}</Button>}
            </div>
          </form>
        ) : (
          record !== undefined && (
            <pre tabIndex={0} role="region" aria-label={t.settings}>
              {JSON.stringify(record.settings, null, 2)}
            </pre>
          )
        )}
      </Section>
      {mayWrite && record !== undefined && <Test name={name} isChanged={isChanged} />}
      {isDeleting && <Delete name={name} onClose={() => setDeleting(false)} />}
    </div>
  )
}

/**
 * The stored settings, or `null`. That there are none is an answer, not an error: reading them again must not take away the form,
 * and what was typed into it.
 */
const useSettings = (request: { readonly params: { readonly connectorName: string } }) =>
  useQuery<Record | null>({
    queryKey: keyOf(SETTINGS, request),
    queryFn: async ({ signal }) => {
      try {
        return await call(SETTINGS, request, { signal })
      } catch (error) {
        if (error instanceof Problem && error.status === 404) return null
        throw error
      }
    },
  })

export const Settings = ({ mayWrite, name }: { readonly name: string; readonly mayWrite: boolean }) => {
  const request = { params: { connectorName: name } }
  const schema = useRead("GET /api/connectors/:connectorName/settings/schema", request)
  const record = useSettings(request)
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
  const stored = record.data ?? undefined
  return <Loaded key={key} name={name} schema={schema.data} record={stored} mayWrite={mayWrite} />
}
