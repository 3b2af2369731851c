/** Fields that choose a record: the list is filtered while typing. */
import { ChevronDown } from "lucide-react"
import type { ReactNode } from "react"
import { Button, ComboBox, FieldError, Input, Label, ListBox, ListBoxItem, Popover, Text } from "react-aria-components"
import { t } from "../../kernel/texts.en.ts"

/** A record that can be chosen. */
export interface Candidate {
  readonly id: string
  readonly title: string
  readonly detail?: string
}

interface Props {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly choices: ReadonlyArray<Candidate>
  readonly hint?: ReactNode
  readonly error?: string | undefined
  readonly isRequired?: boolean
  readonly autoFocus?: boolean
  readonly isCode?: boolean
  /** The choices for what was typed are not there yet. */
  readonly isSearching?: boolean
}

const Parts = ({
  error,
  hint,
  isCode = false,
  isRequired = false,
  isSearching = false,
  label,
  textOf,
}: Omit<Props, "choices" | "value" | "onChange"> & { readonly textOf: (choice: Candidate) => string }) => (
  <>
    <Label className="label">
      {label}
      {isRequired && <span aria-hidden> *</span>}
    </Label>
    <div className="input-with-button">
      <Input className={isCode ? "input mono" : "input"} spellCheck={false} />
      <Button className="button icon">
        <ChevronDown aria-hidden size={14} />
      </Button>
    </div>
    {hint !== undefined && (
      <Text slot="description" className="hint">
        {hint}
      </Text>
    )}
    <FieldError className="field-error">{error}</FieldError>
    <Popover className="popover">
      <ListBox
        className="menu"
        renderEmptyState={() => (
          <div className="menu-note">{isSearching ? t.app.searching : t.common.noSuggestion}</div>
        )}
      >
        {/* The items of a filtered list come from the combo box. */}
        {(choice: Candidate) => (
          <ListBoxItem id={choice.id} textValue={textOf(choice)} className="menu-item offered">
            <span>{choice.title}</span>
            {choice.detail !== undefined && <span className="palette-detail">{choice.detail}</span>}
          </ListBoxItem>
        )}
      </ListBox>
    </Popover>
  </>
)

/** Chooses one of the records, by its id. The field shows the title of the chosen one. */
export const PickField = (props: Props) => {
  const { autoFocus = false, choices, error, isRequired = false, onChange, value } = props
  return (
    <ComboBox
      className="field"
      defaultItems={choices}
      selectedKey={value === "" ? null : value}
      onSelectionChange={(key) => onChange(key === null ? "" : String(key))}
      isInvalid={error !== undefined}
      isRequired={isRequired}
      autoFocus={autoFocus}
      validationBehavior="aria"
      allowsEmptyCollection
    >
      <Parts {...props} textOf={({ title }) => title} />
    </ComboBox>
  )
}

/** A field of text with suggestions: a chosen one is written into the field by its id. The parent filters the suggestions. */
export const SuggestField = (props: Props & { readonly onChoose?: (id: string) => void }) => {
  const {
    autoFocus = false,
    choices,
    error,
    isRequired = false,
    isSearching = false,
    onChange,
    onChoose,
    value,
  } = props
  return (
    <ComboBox
      className="field"
      items={choices}
      inputValue={value}
      onInputChange={onChange}
      onSelectionChange={(key) => {
        if (key !== null) onChoose?.(String(key))
      }}
      isInvalid={error !== undefined}
      isRequired={isRequired}
      autoFocus={autoFocus}
      validationBehavior="aria"
      // A list that is empty while text is typed would stay closed when its choices arrive.
      allowsEmptyCollection={isSearching}
      allowsCustomValue
    >
      <Parts {...props} textOf={({ id }) => id} />
    </ComboBox>
  )
}
