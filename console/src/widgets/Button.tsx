/** Buttons. An action that the caller may not do has no button at all. */
import { Plus } from "lucide-react"
import type { ReactNode, Ref } from "react"
import { Button as AriaButton } from "react-aria-components"

type Look = "normal" | "primary" | "danger" | "quiet"

interface ButtonProps {
  readonly children: ReactNode
  readonly look?: Look
  readonly icon?: ReactNode
  readonly onPress?: () => void
  readonly type?: "button" | "submit"
  readonly isDisabled?: boolean
  readonly isPending?: boolean
  readonly form?: string
  readonly autoFocus?: boolean
  /** What a screen reader says instead of the text, where several rows have the same text. It begins with the text. */
  readonly label?: string
  readonly ref?: Ref<HTMLButtonElement>
}

/**
 * A button with text. React Aria's own pending state leaves an announcement behind that names an element which may be gone, so the
 * state is only shown; the one who sends ignores further presses.
 */
export const Button = ({ children, icon, isPending = false, label, look = "normal", ...rest }: ButtonProps) => (
  <AriaButton
    {...rest}
    className={isPending ? `button pending ${look}` : `button ${look}`}
    {...(label === undefined ? {} : { "aria-label": label })}
  >
    {icon}
    <span>{children}</span>
  </AriaButton>
)

/** The button that creates a record. */
export const CreateButton = ({ children, onPress }: { readonly children: ReactNode; readonly onPress: () => void }) => (
  <Button look="primary" icon={<Plus aria-hidden size={16} />} onPress={onPress}>
    {children}
  </Button>
)

/** A button that shows only an icon; `label` is its name. */
export const IconButton = ({
  icon,
  label,
  onPress,
  ref,
}: {
  readonly icon: ReactNode
  readonly label: string
  readonly onPress?: () => void
  readonly ref?: Ref<HTMLButtonElement>
}) => (
  <AriaButton
    className="button icon"
    aria-label={label}
    {...(onPress === undefined ? {} : { onPress })}
    {...(ref === undefined ? {} : { ref })}
  >
    {icon}
  </AriaButton>
)
