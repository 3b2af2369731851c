/** Creates a metadata field, or changes its label and its position. */
import { useState } from "react"
import type { MetadataField } from "../kernel/Contract.ts"
import { useWrite } from "../kernel/Queries.ts"
import { t as common } from "../kernel/texts.en.ts"
import { SelectField, TextField } from "../widgets/forms/Fields.tsx"
import { errorAt, fieldsOf, FormDialog } from "../widgets/forms/Form.tsx"
import { schemaOf, SchemaText } from "./SchemaText.tsx"
import { t } from "./texts.en.ts"

export const resourceTypes = ["INSTANCE", "DEPLOYMENT_ZONE"] as const satisfies ReadonlyArray<
  MetadataField["resourceType"]
>

const STALE = { stale: ["/api/metadata-fields"] }
const FIRST_SCHEMA = '{\n  "type": "string"\n}'

const orderOf = (text: string): number | null => (text.trim() === "" ? null : Number(text))

export const CreateField = ({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}) => {
  const [values, setValues] = useState({ key: "", label: "", displayOrder: "" })
  const [resourceType, setResourceType] = useState<MetadataField["resourceType"]>("INSTANCE")
  const [schemaText, setSchemaText] = useState(FIRST_SCHEMA)
  const write = useWrite("POST /api/metadata-fields", { ...STALE, done: ({ id }) => onCreated(id) })
  const jsonSchema = schemaOf(schemaText)
  const field = fieldsOf(values, setValues, write.error)
  return (
    <FormDialog
      title={t.create}
      submit={common.common.create}
      fields={["key", "label", "displayOrder", "resourceType", "jsonSchema"]}
      onClose={onClose}
      write={write}
      isDisabled={jsonSchema === undefined}
      onSubmit={() => {
        if (jsonSchema === undefined) return
        const { displayOrder, key, label } = values
        write.mutate({ body: { key, label, resourceType, jsonSchema, displayOrder: orderOf(displayOrder) } })
      }}
    >
      <div className="form-row">
        <TextField label={t.label} isRequired autoFocus {...field("label")} />
        <TextField label={t.key} hint={t.keyHint} isRequired isCode {...field("key")} />
      </div>
      <div className="form-row">
        <SelectField
          label={t.resourceType}
          value={resourceType}
          onChange={(id) => setResourceType(resourceTypes.find((one) => one === id) ?? "INSTANCE")}
          choices={resourceTypes.map((id) => ({ id, title: t.types[id] }))}
          error={errorAt(write.error, "resourceType")}
        />
        <TextField kind="decimal" label={t.order} hint={t.orderHint} {...field("displayOrder")} />
      </div>
      <SchemaText text={schemaText} onChange={setSchemaText} error={write.error} />
    </FormDialog>
  )
}

export const EditField = ({ field, onClose }: { readonly field: MetadataField; readonly onClose: () => void }) => {
  const [label, setLabel] = useState(field.label)
  const [order, setOrder] = useState(String(field.displayOrder))
  const write = useWrite("PATCH /api/metadata-fields/:metadataFieldId", { ...STALE, done: onClose })
  return (
    <FormDialog
      title={t.edit}
      submit={common.common.save}
      fields={["label", "displayOrder"]}
      onClose={onClose}
      write={write}
      onSubmit={() =>
        write.mutate({ params: { metadataFieldId: field.id }, body: { label, displayOrder: orderOf(order) } })
      }
    >
      <TextField
        label={t.label}
        isRequired
        autoFocus
        value={label}
        onChange={setLabel}
        error={errorAt(write.error, "label")}
      />
      <TextField
        kind="decimal"
        label={t.order}
        hint={t.orderHint}
        value={order}
        onChange={setOrder}
        error={errorAt(write.error, "displayOrder")}
      />
    </FormDialog>
  )
}
