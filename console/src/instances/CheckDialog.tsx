/** Asks the service what the instance may use, now or at a moment, and shows the facts of its answer. */
import { Plus, X } from "lucide-react"
import { useState } from "react"
import type { CheckResult, Request } from "../kernel/Contract.ts"
import { curlOf } from "../kernel/forms/Curl.ts"
import { orUndefinedNumber } from "../kernel/Inputs.ts"
import { defined, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { Button, IconButton } from "../widgets/Button.tsx"
import { Dialog } from "../widgets/Dialog.tsx"
import { Command, CurlDetails } from "../widgets/forms/AsCurl.tsx"
import { Segments, SelectField, TextField } from "../widgets/forms/Fields.tsx"
import type { Choice } from "../widgets/forms/Fields.tsx"
import { ConfirmDialog, Form } from "../widgets/forms/Form.tsx"
import { MomentField } from "../widgets/forms/MomentField.tsx"
import { Failure } from "../widgets/States.tsx"
import { CheckAnswers } from "./CheckAnswers.tsx"
import { t } from "./texts.en.ts"

interface Line {
  readonly id: number
  readonly entitlement: string
  readonly requested: string
}

type CheckBody = Request<"POST /api/instances/:instanceSlug/check">["body"]

const bodyOf = (lines: ReadonlyArray<Line>, at: string | undefined): CheckBody =>
  defined({
    checks: lines.map(({ entitlement, requested }) =>
      defined({ entitlement, requested: orUndefinedNumber(requested) }),
    ),
    explain: true,
    at,
  })

let nextId = 0
const newLine = (entitlement: string): Line => ({ id: nextId++, entitlement, requested: "1" })

export const CheckDialog = ({
  choices,
  entitlement,
  instanceName,
  instanceSlug,
  onClose,
}: {
  readonly instanceName: string
  readonly instanceSlug: string
  readonly entitlement: string
  readonly choices: ReadonlyArray<Choice>
  readonly onClose: () => void
}) => {
  const [lines, setLines] = useState<ReadonlyArray<Line>>(() => [newLine(entitlement)])
  const [when, setWhen] = useState("now")
  const [moment, setMoment] = useState("")
  const [answer, setAnswer] = useState<CheckResult>()
  // What the fields asked when the answer came.
  const [answered, setAnswered] = useState<string>()
  const [isAsking, setAsking] = useState(false)
  const mayConsume = useCan("write:instances")
  const shown = (result: CheckResult, { body }: Request<"POST /api/instances/:instanceSlug/check">) => {
    setAnswer(result)
    setAnswered(JSON.stringify({ ...body, consume: undefined }))
  }
  const check = useWrite("POST /api/instances/:instanceSlug/check", { stale: [], done: shown })
  const consume = useWrite("POST /api/instances/:instanceSlug/check", {
    stale: ["/api/instances"],
    done: (result, sent) => {
      shown(result, sent)
      setAsking(false)
    },
  })
  const at = when === "now" ? undefined : moment
  const request = { params: { instanceSlug }, body: bodyOf(lines, at) }
  const run = () => check.mutate(request)
  // The first answer comes without a press: the person has already asked "Why?".
  const [started, setStarted] = useState(false)
  if (!started) {
    setStarted(true)
    queueMicrotask(run)
  }
  const change = (id: number, part: Partial<Line>) =>
    setLines(lines.map((line) => (line.id === id ? { ...line, ...part } : line)))
  return (
    <Dialog title={t.checks.title(instanceName)} isOpen onClose={onClose} wide>
      <Form onSubmit={run}>
        <div className="inline">
          <Segments
            label={t.checks.moment}
            value={when}
            onChange={setWhen}
            choices={[
              { id: "now", title: t.checks.now },
              { id: "at", title: t.checks.at },
            ]}
          />
          {when === "at" && <MomentField label={t.checks.moment} isRequired value={moment} onChange={setMoment} />}
        </div>
        {lines.map((line) => (
          <div key={line.id} className="check-line">
            <SelectField
              label={t.checks.entitlement}
              choices={choices}
              value={line.entitlement}
              onChange={(id) => change(line.id, { entitlement: id })}
            />
            <TextField
              kind="decimal"
              label={t.checks.wants}
              value={line.requested}
              onChange={(requested) => change(line.id, { requested })}
            />
            {lines.length > 1 && (
              <IconButton
                icon={<X aria-hidden size={14} />}
                label={t.checks.removeLine}
                onPress={() => setLines(lines.filter(({ id }) => id !== line.id))}
              />
            )}
          </div>
        ))}
        <div className="actions">
          <Button type="submit" look="primary" isPending={check.isPending}>
            {t.checks.run}
          </Button>
          <Button
            icon={<Plus aria-hidden size={14} />}
            onPress={() => setLines([...lines, newLine(choices[0]?.id ?? "")])}
          >
            {t.checks.add}
          </Button>
          {mayConsume && when === "now" && <Button onPress={() => setAsking(true)}>{t.checks.consume}</Button>}
        </div>
      </Form>
      {check.error !== null && <Failure error={check.error} />}
      {answer !== undefined && (
        <CheckAnswers result={answer} isOld={answered !== JSON.stringify({ ...request.body, consume: undefined })} />
      )}
      <CurlDetails>
        <Command text={curlOf("POST /api/instances/:instanceSlug/check", request)} />
      </CurlDetails>
      {isAsking && (
        <ConfirmDialog
          title={t.checks.consumeTitle}
          submit={t.checks.consume}
          onClose={() => setAsking(false)}
          write={consume}
          onConfirm={() => consume.mutate({ ...request, body: { ...request.body, consume: true } })}
        >
          <p>{t.checks.consumeText}</p>
        </ConfirmDialog>
      )}
      <span className="visually-hidden" role="status">
        {answer === undefined ? "" : `${common.common.done}: ${answer.checks.map(({ reason }) => reason).join(", ")}`}
      </span>
    </Dialog>
  )
}
