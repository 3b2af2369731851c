/** Starts the console: reads the configuration, restores or finishes a sign-in, then shows the page. */
import { QueryClientProvider } from "@tanstack/react-query"
import { RouterProvider } from "@tanstack/react-router"
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { App } from "./app/App.tsx"
import { StartFailure } from "./app/StartFailure.tsx"
import { createRoutes } from "./app/routes.tsx"
import { config, loadConfig } from "./kernel/Config.ts"
import { applyTheme } from "./kernel/Preferences.ts"
import { createQueries } from "./kernel/Queries.ts"
import { finishSignIn, restore, whenSignedOut } from "./kernel/Session.ts"
import "./app/tokens.css"
import "./app/base.css"
import "./app/shell.css"
import "./widgets/controls.css"
import "./widgets/widgets.css"

const root = createRoot(document.getElementById("root") ?? document.body)

/** Continues a sign-in if the provider sent the browser here, and takes its code out of the URL. */
const enter = async (): Promise<void> => {
  const url = new URL(location.href)
  if (url.pathname !== `${import.meta.env.BASE_URL}signed-in`) return restore(url.pathname + url.search)
  const show = (path: string) => history.replaceState(null, "", path)
  show(import.meta.env.BASE_URL)
  await finishSignIn(url, show)
}

const start = async (): Promise<void> => {
  applyTheme()
  await loadConfig()
  const failure: unknown = await enter().then(
    () => undefined,
    (error: unknown) => error,
  )
  const queries = createQueries()
  whenSignedOut(() => queries.clear())
  const router = createRoutes(config().surface)
  root.render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <App failure={failure}>
          <RouterProvider router={router} />
        </App>
      </QueryClientProvider>
    </StrictMode>,
  )
}

start().catch((error: unknown) => root.render(<StartFailure error={error} />))
