/** A button in a row of a list. Its name for screen readers says which row it is of. */
import { Button } from "../Button.tsx"

export const RowAction = ({
  of,
  onPress,
  title,
}: {
  readonly title: string
  /** The name of the row's record. */
  readonly of: string
  readonly onPress: () => void
}) => (
  <Button look="quiet" onPress={onPress}>
    {title} <span className="visually-hidden">{of}</span>
  </Button>
)
