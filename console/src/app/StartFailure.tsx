/** Shown if the configuration cannot be read. */
import { Failure } from "../widgets/States.tsx"

export const StartFailure = ({ error }: { readonly error: unknown }) => (
  <main className="start-failure">
    <h1>Keyshelf</h1>
    <Failure error={error} retry={() => location.reload()} />
  </main>
)
