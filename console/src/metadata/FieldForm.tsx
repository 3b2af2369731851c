/** Creates a metadata field, or changes its label and its position. */
import { useState } from "react"
import type { MetadataField } from "../kernel/Contract.ts"
import { useRecordForm } from "../kernel/forms/Update.ts"
import { orNullNumber } from "../kernel/Inputs.ts"
import { foundIn, readAll, useWrite } from "../kernel/Queries.ts"
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
        write.mutate({ body: { key, label, resourceType, jsonSchema, displayOrder: orNullNumber(displayOrder) } })
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

/** The field as it is stored. It has no path to read, so this reads the list. */
export const readField = async ({ id }: MetadataField): Promise<MetadataField> =>
  foundIn(await readAll("GET /api/metadata-fields", {}), (one) => one.id === id)

export const EditField = ({ field, onClose }: { readonly field: MetadataField; readonly onClose: () => void }) => {
  const { dialog, error, setValues, values } = useRecordForm("PATCH /api/metadata-fields/:metadataFieldId", {
    record: field,
    valuesOf: ({ displayOrder, label }) => ({ label, displayOrder: String(displayOrder) }),
    bodyOf: ({ displayOrder, label }) => ({ label, displayOrder: orNullNumber(displayOrder) }),
    read: () => readField(field),
    request: (body) => ({ params: { metadataFieldId: field.id }, body }),
    ...STALE,
    done: onClose,
  })
  const fieldOf = fieldsOf(values, setValues, error)
  return (
    <FormDialog
      title={t.edit}
      submit={common.common.save}
      fields={["label", "displayOrder"]}
      onClose={onClose}
      {...dialog}
    >
      <TextField label={t.label} isRequired autoFocus {...fieldOf("label")} />
      <TextField kind="decimal" label={t.order} hint={t.orderHint} {...fieldOf("displayOrder")} />
    </FormDialog>
  )
}
