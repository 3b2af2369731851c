/** What a component is pulled as. */
import { Pencil } from "lucide-react"
import { useState } from "react"
import { call } from "../kernel/Api.ts"
import type { Component } from "../kernel/Contract.ts"
import { resolutionOf, useEdit, useUpdate } from "../kernel/forms/Update.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Button } from "../widgets/Button.tsx"
import { complete, DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { TextField } from "../widgets/forms/Fields.tsx"
import { errorAt, FormDialog } from "../widgets/forms/Form.tsx"
import { ListField, newLine } from "../widgets/forms/Order.tsx"
import type { Line } from "../widgets/forms/Order.tsx"
import { Empty } from "../widgets/States.tsx"
import { Code } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

type Image = Component["images"][number]

interface Images {
  readonly images: ReadonlyArray<Image>
}

const columns: ReadonlyArray<Column<Image>> = [
  {
    id: "repository",
    title: t.images.repository,
    width: "2fr",
    cell: ({ repository }) => <Code>{repository}</Code>,
  },
  { id: "reference", title: t.images.reference, width: "2fr", cell: ({ reference }) => <Code>{reference}</Code> },
]

interface Values {
  readonly rows: ReadonlyArray<Image & Line>
}

const valuesOf = ({ images }: Images): Values => ({ rows: images.map((image) => newLine({ ...image })) })
const bodyOf = ({ rows }: Values): Images => ({
  images: rows.map(({ reference, repository }) => ({ repository: repository.trim(), reference: reference.trim() })),
})

const fieldsOfRows = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, index) => [`images[${index}].repository`, `images[${index}].reference`]).flat()

const EditImages = ({ component, onClose }: { readonly component: Component; readonly onClose: () => void }) => {
  const params = { componentSlug: component.slug }
  const imagesOf = ({ images }: Component): Images => ({ images })
  const form = useEdit(imagesOf(component), valuesOf, bodyOf)
  const { rows } = form.values
  const update = useUpdate("PUT /api/components/:componentSlug/images", {
    read: () => call("GET /api/components/:componentSlug", { params }).then(imagesOf),
    request: ({ images = [] }: Partial<Images>) => ({ params, body: { images } }),
    stale: ["/api/components", "/api/releases"],
    done: onClose,
  })
  return (
    <FormDialog
      title={t.images.edit}
      submit={common.common.save}
      fields={["images", ...fieldsOfRows(rows.length)]}
      onClose={onClose}
      write={update}
      resolution={resolutionOf(update.error, form, update.reset)}
      onSubmit={() => update.save(form.edit)}
    >
      <ListField
        label={t.images.title}
        hint={t.images.hint}
        rows={rows}
        onChange={(next) => form.setValues({ rows: next })}
        add={() => newLine({ repository: "", reference: "" })}
        addLabel={t.images.add}
        nameOf={({ repository }, index) => (repository === "" ? t.images.nameOf(index + 1) : repository)}
        error={errorAt(update.error, "images")}
        isOrdered
      >
        {({ reference, repository }, change, index) => (
          <div className="form-row">
            <TextField
              label={t.images.repository}
              isRequired
              isCode
              autoFocus={repository === ""}
              value={repository}
              onChange={(next) => change({ repository: next })}
              error={errorAt(update.error, `images[${index}].repository`)}
            />
            <TextField
              label={t.images.reference}
              isRequired
              isCode
              value={reference}
              onChange={(next) => change({ reference: next })}
              error={errorAt(update.error, `images[${index}].reference`)}
            />
          </div>
        )}
      </ListField>
    </FormDialog>
  )
}

export const ImagesTab = ({ component }: { readonly component: Component }) => {
  const mayWrite = useCan("write:components")
  const [isEditing, setEditing] = useState(false)
  return (
    <>
      {mayWrite && (
        <div className="tab-tools">
          <Button icon={<Pencil aria-hidden size={16} />} onPress={() => setEditing(true)}>
            {t.images.edit}
          </Button>
        </div>
      )}
      <DataTable
        label={t.images.title}
        columns={columns}
        rows={complete(component.images)}
        rowKey={({ repository }) => repository}
        empty={<Empty title={t.images.empty}>{t.images.emptyDetail}</Empty>}
      />
      {isEditing && <EditImages component={component} onClose={() => setEditing(false)} />}
    </>
  )
}
