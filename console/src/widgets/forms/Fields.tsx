/** Fields of forms, each with its label, its hint and what the service found wrong with it. */
import { Check, ChevronDown } from "lucide-react"
import { useState } from "react"
import type { ReactNode } from "react"
import {
  Button,
  Checkbox,
  FieldError,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  Radio,
  RadioGroup,
  Select,
  SelectValue,
  Text,
  TextArea,
  TextField as AriaTextField,
} from "react-aria-components"

export interface FieldProps {
  readonly label: string
  readonly hint?: ReactNode
  readonly error?: string | undefined
  readonly isRequired?: boolean
  readonly isReadOnly?: boolean
  readonly autoFocus?: boolean
}

interface TextFieldProps extends FieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly kind?: "text" | "password" | "email" | "url" | "search" | "decimal" | "lines"
  readonly placeholder?: string
  readonly isCode?: boolean
  /** How many lines are visible. */
  readonly rows?: number
}

/** A field of text, of a number as it is written, or of several lines. Text that has lines is shown with them. */
export const TextField = ({
  error,
  hint,
  isCode = false,
  kind = "text",
  label,
  placeholder = "",
  rows = 8,
  ...field
}: TextFieldProps) => {
  // A field of one line would drop the line breaks with the first key. The kind stays while the person types.
  const [isLong] = useState(kind === "lines" || (kind === "text" && /[\r\n]/.test(field.value)))
  return (
    <AriaTextField
      {...field}
      className="field"
      type={kind === "decimal" || kind === "lines" ? "text" : kind}
      isInvalid={error !== undefined}
      validationBehavior="aria"
      {...(kind === "decimal" ? { inputMode: "decimal" as const } : {})}
      {...(kind === "password" ? { autoComplete: "off" } : {})}
    >
      <Label className="label">
        {label}
        {field.isRequired === true && <span aria-hidden> *</span>}
      </Label>
      {isLong ? (
        <TextArea
          className={isCode ? "input mono" : "input"}
          rows={kind === "lines" ? rows : 3}
          placeholder={placeholder}
          spellCheck={!isCode}
        />
      ) : (
        <Input className={isCode ? "input mono" : "input"} placeholder={placeholder} spellCheck={false} />
      )}
      {hint !== undefined && (
        <Text slot="description" className="hint">
          {hint}
        </Text>
      )}
      <FieldError className="field-error">{error}</FieldError>
    </AriaTextField>
  )
}

export interface Choice {
  readonly id: string
  readonly title: string
}

/** A choice of a few known values. */
export const SelectField = ({
  choices,
  error,
  hint,
  isInline = false,
  label,
  onChange,
  value,
}: FieldProps & {
  readonly choices: ReadonlyArray<Choice>
  readonly value: string
  readonly onChange: (value: string) => void
  readonly isInline?: boolean
}) => (
  <Select
    className={isInline ? "field inline" : "field"}
    selectedKey={value}
    onSelectionChange={(key) => onChange(String(key))}
    isInvalid={error !== undefined}
    validationBehavior="aria"
  >
    <Label className="label">{label}</Label>
    <Button className="input select">
      <SelectValue />
      <ChevronDown aria-hidden size={14} />
    </Button>
    {hint !== undefined && (
      <Text slot="description" className="hint">
        {hint}
      </Text>
    )}
    <FieldError className="field-error">{error}</FieldError>
    <Popover className="popover">
      <ListBox className="menu">
        {choices.map(({ id, title }) => (
          <ListBoxItem key={id} id={id} textValue={title} className="menu-item">
            {title}
          </ListBoxItem>
        ))}
      </ListBox>
    </Popover>
  </Select>
)

/** A box to tick. */
export const CheckField = ({
  isDisabled = false,
  isSelected,
  label,
  onChange,
}: {
  readonly label: ReactNode
  readonly isSelected: boolean
  readonly onChange: (isSelected: boolean) => void
  readonly isDisabled?: boolean
}) => (
  <Checkbox className="check" isSelected={isSelected} onChange={onChange} isDisabled={isDisabled}>
    <span className="box" aria-hidden>
      <Check size={12} />
    </span>
    <span>{label}</span>
  </Checkbox>
)

/** A choice of two to four, all visible. */
export const Segments = ({
  choices,
  label,
  onChange,
  value,
}: {
  readonly label: string
  readonly choices: ReadonlyArray<Choice>
  readonly value: string
  readonly onChange: (value: string) => void
}) => (
  <RadioGroup className="segments" aria-label={label} value={value} onChange={onChange} orientation="horizontal">
    {choices.map(({ id, title }) => (
      <Radio key={id} value={id} className="segment">
        {title}
      </Radio>
    ))}
  </RadioGroup>
)

/** Fields that belong together. */
export const Fieldset = ({
  children,
  error,
  hint,
  label,
}: {
  readonly label: string
  readonly hint?: string | undefined
  readonly error?: string | undefined
  readonly children: ReactNode
}) => (
  <fieldset className="fieldset parts">
    {label !== "" && <legend className="label">{label}</legend>}
    {hint !== undefined && <p className="hint">{hint}</p>}
    {children}
    {error !== undefined && <p className="field-error">{error}</p>}
  </fieldset>
)
