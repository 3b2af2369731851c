/**
 * A field for a moment in UTC. The browser's field gives "" both if it is empty and if a part of the date is missing, so this one
 * asks which it is: an incomplete date changes nothing, is named at the field, and stops the form.
 */
import { useEffect, useRef, useState } from "react"
import { FieldError, Input, Label, Text, TextField as AriaTextField } from "react-aria-components"
import { inputOfMoment, isMoment, LAST_INPUT, momentOfInput, stepOfInput } from "../../kernel/forms/Moments.ts"
import type { FieldProps } from "./Fields.tsx"
import { t } from "./texts.en.ts"

interface MomentFieldProps extends FieldProps {
  /** The moment as the service has it; "" for none. */
  readonly value: string
  readonly onChange: (value: string) => void
  /** Says at once when the field is left incomplete. In a form this waits until it is sent: a message would move the buttons. */
  readonly isFilter?: boolean
}

const MINUTE = 60

/** What is wrong with a field as a whole, without what the browser knows itself. */
const faultOf = (value: string, isRequired: boolean): string => {
  if (value === "") return isRequired ? t.moment.missing : ""
  return isMoment(value) ? "" : t.moment.unreadable
}

export const MomentField = ({
  error,
  hint,
  isFilter = false,
  isRequired = false,
  label,
  onChange,
  value,
  ...field
}: MomentFieldProps) => {
  const input = useRef<HTMLInputElement>(null)
  // The text of the value: typed text stays as the browser has it.
  const [typed, setTyped] = useState({ text: inputOfMoment(value), value })
  const text = typed.value === value ? typed.text : inputOfMoment(value)
  // A browser recreates the parts when the step changes, and drops what is half typed. So the step only becomes finer.
  const [step, setStep] = useState(MINUTE)
  const needed = stepOfInput(inputOfMoment(value))
  if (needed < step) setStep(needed)
  const [fault, setFault] = useState<string>()
  useEffect(() => input.current?.setCustomValidity(faultOf(value, isRequired)), [isRequired, value])
  const isIncomplete = () => input.current?.validity.badInput === true
  const look = () =>
    setFault(isIncomplete() ? t.moment.incomplete : faultOf(input.current?.value === "" ? "" : value, isRequired))
  const change = (next: string) => {
    // Without a whole date, the form keeps the moment that it has.
    const moment = isIncomplete() ? value : momentOfInput(next)
    setTyped({ text: next, value: moment })
    if (moment !== value) onChange(moment)
    if (!isIncomplete()) setFault(undefined)
  }
  // No event says that the last part of an incomplete date was deleted.
  const settle = () => {
    if (input.current === null || isIncomplete()) return
    if (input.current.value === "" && value !== "") change("")
    setFault((before) => (before === t.moment.incomplete ? undefined : before))
  }
  const message = fault === undefined || fault === "" ? error : fault
  return (
    <AriaTextField
      {...field}
      className="field"
      type="datetime-local"
      value={text}
      onChange={change}
      isRequired={isRequired}
      isInvalid={message !== undefined}
      validationBehavior="aria"
    >
      <Label className="label">
        {label}
        {isRequired && <span aria-hidden> *</span>}
      </Label>
      <Input
        ref={input}
        className="input"
        max={LAST_INPUT}
        step={step}
        onInvalid={look}
        onKeyUp={settle}
        onBlur={() => {
          settle()
          if (isFilter && isIncomplete()) look()
        }}
      />
      {hint !== undefined && (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldError className="field-error">{message}</FieldError>
    </AriaTextField>
  )
}
