/** Forms, in dialogs too: they send once, keep what was typed, and show what the service found wrong at its field. */
import { CircleAlert } from "lucide-react"
import { useRef, useState } from "react"
import type { ReactNode } from "react"
import { Problem } from "../../kernel/Api.ts"
import type { FieldError } from "../../kernel/Api.ts"
import type { Draft } from "../../kernel/forms/Curl.ts"
import { Conflict } from "../../kernel/forms/Edit.ts"
import type { Resolution } from "../../kernel/forms/Update.ts"
import { t } from "../../kernel/texts.en.ts"
import { Button } from "../Button.tsx"
import { Dialog, DialogActions } from "../Dialog.tsx"
import { Failure } from "../States.tsx"
import { AsCurl } from "./AsCurl.tsx"

/** The names on the way to a place. Locations are written as `body.settings.list[0]` or `body.value/list/0`. */
const pathOf = (location: string): string =>
  `${location
    .replace(/^\/?body/, "")
    .replaceAll(/[.[\]/]+/g, "/")
    .replaceAll("~1", "/")
    .replaceAll("~0", "~")}/`

/** What the service found wrong at a place of the body and below it. */
const errorsUnder = (errors: ReadonlyArray<FieldError>, place: string): ReadonlyArray<FieldError> =>
  errors.filter(({ location }) => pathOf(location).startsWith(pathOf(place)))

/** The message for a place of the body and below it, without what is shown at the places of its parts. */
export const messageAt = (
  errors: ReadonlyArray<FieldError>,
  place: string,
  parts: ReadonlyArray<string> = [],
): string | undefined => {
  const own = errorsUnder(errors, place).filter((error) =>
    parts.every((part) => errorsUnder([error], part).length === 0),
  )
  return own.length === 0 ? undefined : own.map(({ message }) => message).join("; ")
}

/** The errors of a body that the service refused. */
export const errorsOf = (error: unknown): ReadonlyArray<FieldError> => (error instanceof Problem ? error.errors : [])

const LENGTH = /^must be 1 to (\d+) characters$/

/** The message for a field of the body, if the service found something wrong there. That of a name says what to do. */
export const errorAt = (error: unknown, name: string): string | undefined => {
  const message = messageAt(errorsOf(error), `body.${name}`)
  const limit = name === "name" ? LENGTH.exec(message ?? "")?.[1] : undefined
  return limit === undefined ? message : t.common.enterName(limit)
}

/** What the field of a form takes, by its name in the body: its text, and what the service found wrong there. */
export const fieldsOf =
  <V extends object>(values: V, onChange: (values: V) => void, error: unknown) =>
  <K extends keyof V & string>(name: K) => ({
    value: values[name],
    onChange: (value: V[K]) => onChange({ ...values, [name]: value }),
    error: errorAt(error, name),
  })

/** The error without what is shown at fields. */
const remaining = (error: unknown, fields: ReadonlyArray<string>): unknown => {
  if (!(error instanceof Problem) || error.errors.length === 0) return error
  const isShown =
    fields.length > 0 &&
    error.errors.every((one) => fields.some((name) => errorAt(new Problem(0, "", "", "", { errors: [one] }), name)))
  return isShown ? null : error
}

/** The state of what a dialog sends, as the hook of a write has it. */
export interface WriteState {
  readonly error: unknown
  readonly isPending: boolean
  /** What `submit` would send. Hooks of writes have it, so each form shows its request. */
  readonly draft: (submit: () => void) => Draft | undefined
}

/** Whether the browser has something in a field that is no value, such as a date with a part missing, or the field says so. */
const isUnfinished = (element: Element): element is HTMLInputElement =>
  element instanceof HTMLInputElement && (element.validity.badInput || element.validity.customError)

/** A form that sends nothing while a field is unfinished: the value of such a field is "", as if it were empty. */
export const Form = ({
  children,
  className = "form",
  onSubmit,
  onTyped,
}: {
  readonly children: ReactNode
  readonly className?: string
  readonly onSubmit: () => void
  /** Something was typed or ticked. */
  readonly onTyped?: () => void
}) => {
  const isRepeated = useRef(false)
  return (
    <form
      className={className}
      noValidate
      {...(onTyped === undefined ? {} : { onInput: onTyped })}
      onClickCapture={(event) => {
        isRepeated.current = event.detail > 1
      }}
      onSubmit={(event) => {
        event.preventDefault()
        // The second press of a double click sends nothing.
        if (isRepeated.current) return
        const unfinished = [...event.currentTarget.elements].filter(isUnfinished)
        // The event `invalid` makes each field say what is wrong.
        for (const field of unfinished) field.checkValidity()
        unfinished[0]?.focus()
        if (unfinished.length === 0) onSubmit()
      }}
    >
      {children}
    </form>
  )
}

/** Says that someone else changed the same property, and offers both choices. */
const ConflictNotice = ({ resolution }: { readonly resolution: Resolution }) => (
  <div className="failure" role="alert">
    <CircleAlert aria-hidden size={16} />
    <div>
      <p className="failure-title">{t.conflict.title}</p>
      <p>{t.conflict.detail}</p>
      <div className="actions">
        <Button onPress={resolution.take}>{t.conflict.take}</Button>
        <Button onPress={resolution.keep}>{t.conflict.keep}</Button>
      </div>
    </div>
  </div>
)

/** Asks before a key or the cross throws away what was typed. */
const DiscardNotice = ({ onDiscard, onKeep }: { readonly onDiscard: () => void; readonly onKeep: () => void }) => (
  <div className="failure" role="alert">
    <CircleAlert aria-hidden size={16} />
    <div>
      <p className="failure-title">{t.discard.title}</p>
      <div className="actions">
        <Button onPress={onKeep} autoFocus>
          {t.discard.keep}
        </Button>
        <Button onPress={onDiscard}>{t.discard.discard}</Button>
      </div>
    </div>
  </div>
)

/** An error of a form: a conflict with its ways on, or what no field shows. */
export const FormFailure = ({
  error,
  fields,
  resolution,
}: {
  readonly error: unknown
  /** The fields that show errors themselves. */
  readonly fields: ReadonlyArray<string>
  readonly resolution?: Resolution | undefined
}) => {
  if (error instanceof Conflict && resolution !== undefined) return <ConflictNotice resolution={resolution} />
  const rest = remaining(error, fields)
  return rest === null || rest === undefined ? null : <Failure error={rest} />
}

export interface FormDialogProps {
  readonly title: string
  readonly submit: string
  readonly onClose: () => void
  readonly onSubmit: () => void
  readonly write: WriteState
  /** The fields that show errors themselves. */
  readonly fields?: ReadonlyArray<string>
  /** The ways on from a conflict, if the error is one. */
  readonly resolution?: Resolution | undefined
  readonly isDangerous?: boolean
  readonly isDisabled?: boolean
  readonly wide?: boolean
  readonly children: ReactNode
}

export const FormDialog = ({
  children,
  fields = [],
  isDangerous = false,
  isDisabled = false,
  onClose,
  onSubmit,
  resolution,
  submit,
  title,
  wide = false,
  write: { draft, error, isPending },
}: FormDialogProps) => {
  const isTyped = useRef(false)
  const [isAsking, setAsking] = useState(false)
  return (
    <Dialog title={title} isOpen onClose={() => (isTyped.current ? setAsking(true) : onClose())} wide={wide}>
      <Form
        onTyped={() => {
          isTyped.current = true
        }}
        onSubmit={() => {
          // Nor does a press while the first request is in flight.
          if (!isPending && !isDisabled) onSubmit()
        }}
      >
        {children}
        <FormFailure error={error} fields={fields} resolution={resolution} />
        {isAsking && <DiscardNotice onDiscard={onClose} onKeep={() => setAsking(false)} />}
        {!isDangerous && <AsCurl draft={() => draft(onSubmit)} />}
        <DialogActions>
          <Button onPress={onClose}>{t.common.cancel}</Button>
          <Button type="submit" look={isDangerous ? "danger" : "primary"} isPending={isPending} isDisabled={isDisabled}>
            {submit}
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}

/** A question before something that cannot be undone. */
export const ConfirmDialog = ({
  onConfirm,
  ...dialog
}: Pick<FormDialogProps, "title" | "submit" | "onClose" | "write" | "children"> & {
  readonly onConfirm: () => void
}) => <FormDialog {...dialog} isDangerous onSubmit={onConfirm} />
