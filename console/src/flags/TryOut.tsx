/** Evaluates the flag as a product would: a context goes in; value, variant and reason come out. */
import { useState } from "react"
import { objectForBody, parseForBody } from "../kernel/Amount.ts"
import type { Answer, FeatureFlag } from "../kernel/Contract.ts"
import { useWrite } from "../kernel/Queries.ts"
import { announce } from "../kernel/Announcements.ts"
import { Button } from "../widgets/Button.tsx"
import { Segments, TextField } from "../widgets/forms/Fields.tsx"
import { ListField, newLine } from "../widgets/forms/Order.tsx"
import type { Line } from "../widgets/forms/Order.tsx"
import { Facts, Section } from "../widgets/Page.tsx"
import { Failure } from "../widgets/States.tsx"
import { Code } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

interface Attribute extends Line {
  readonly name: string
  readonly value: string
}

type Context = Readonly<Record<string, unknown>>

/** The value of an attribute: JSON if the text is some, else the text. */
const valueOf = (text: string): unknown => {
  const trimmed = text.trim()
  try {
    return parseForBody(trimmed)
  } catch {
    return text
  }
}

const contextOf = (key: string, attributes: ReadonlyArray<Attribute>): Context => ({
  ...(key === "" ? {} : { targetingKey: key }),
  ...Object.fromEntries(
    attributes
      .filter(({ name, value }) => name !== "" && value !== "")
      .map(({ name, value }) => [name, valueOf(value)]),
  ),
})

/** The attributes that the targetings compare, as rows to fill in. */
const attributesOf = ({ targetings }: FeatureFlag): ReadonlyArray<Attribute> => {
  // Facts of the instance are the service's: what a caller sends of them is ignored.
  const names = targetings
    .flatMap(({ conditions }) => conditions.map(({ attribute }) => attribute))
    .filter((name) => !name.startsWith("keyshelf."))
  return [...new Set(names)].filter((name) => name !== "targetingKey").map((name) => newLine({ name, value: "" }))
}

type Evaluation = Answer<"POST /api/ofrep/v1/evaluate/flags/:key">

const Result = ({ evaluation: { reason, value, variant } }: { readonly evaluation: Evaluation }) => (
  <Section title={t.result}>
    <Facts
      items={[
        [t.value, value === undefined ? t.noValue : <Code key="value">{JSON.stringify(value)}</Code>],
        [t.variant, variant === undefined ? t.noVariant : <Code key="variant">{variant}</Code>],
        [
          t.reason,
          <span key="reason">
            <Code>{reason}</Code> <span className="sub">{t.reasons[reason]}</span>
          </span>,
        ],
      ]}
    />
  </Section>
)

export const TryOut = ({ flag }: { readonly flag: FeatureFlag }) => {
  const [key, setKey] = useState("")
  const [attributes, setAttributes] = useState(() => attributesOf(flag))
  const [mode, setMode] = useState("rows")
  const [json, setJson] = useState("")
  const [evaluation, setEvaluation] = useState<Evaluation>()
  const write = useWrite("POST /api/ofrep/v1/evaluate/flags/:key", {
    stale: [],
    done: (answer) => {
      setEvaluation(answer)
      announce(`${t.reason}: ${answer.reason}`)
    },
  })
  const isRows = mode === "rows"
  const context = isRows ? contextOf(key, attributes) : objectForBody(json)
  const choose = (next: string) => {
    if (next === "json") setJson(JSON.stringify(context, null, 2))
    else if (context !== undefined) {
      const { targetingKey = "", ...rest } = context
      setKey(String(targetingKey))
      setAttributes(
        Object.entries(rest).map(([name, value]) =>
          newLine({
            name,
            value: typeof value === "string" && valueOf(value) === value ? value : JSON.stringify(value),
          }),
        ),
      )
    } else return
    setMode(next)
  }
  return (
    <form
      className="form try-out"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        if (context !== undefined) write.mutate({ params: { key: flag.key }, body: { context } })
      }}
    >
      <p className="muted">{t.tryOutHint}</p>
      <div>
        <Segments
          label={t.contextAs}
          value={mode}
          onChange={choose}
          choices={[
            { id: "rows", title: t.asRows },
            { id: "json", title: t.asJson },
          ]}
        />
      </div>
      {isRows ? (
        <>
          <TextField label={t.targetingKey} hint={t.targetingKeyHint} value={key} onChange={setKey} />
          <ListField
            label={t.attributes}
            hint={t.attributesHint}
            rows={attributes}
            onChange={setAttributes}
            add={() => newLine({ name: "", value: "" })}
            addLabel={t.addAttribute}
            nameOf={({ name }, index) => name || t.row(index)}
          >
            {(row, change) => (
              <>
                <TextField label={t.attribute} isCode value={row.name} onChange={(name) => change({ name })} />
                <TextField label={t.value} value={row.value} onChange={(value) => change({ value })} />
              </>
            )}
          </ListField>
        </>
      ) : (
        <TextField
          kind="lines"
          label={t.contextJson}
          isCode
          value={json}
          onChange={setJson}
          error={context === undefined ? t.notJson : undefined}
        />
      )}
      <div className="actions">
        <Button type="submit" look="primary" isPending={write.isPending} isDisabled={context === undefined}>
          {t.evaluate}
        </Button>
      </div>
      {write.error !== null && <Failure error={write.error} />}
      {evaluation !== undefined && write.error === null && <Result evaluation={evaluation} />}
    </form>
  )
}
