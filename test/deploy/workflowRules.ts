/** The rules of the workflows in `.github/workflows`: what they may use, write and read. Pure. */
import { parse } from "effect/encoding/Yaml"

interface Step {
  readonly uses?: string
  readonly run?: string
  readonly with?: Readonly<Record<string, unknown>>
  readonly env?: Readonly<Record<string, unknown>>
}

/** A job of a workflow. */
export interface Job {
  readonly needs?: string | ReadonlyArray<string>
  readonly container?: string
  readonly environment?: string
  readonly permissions?: Readonly<Record<string, string>>
  readonly "timeout-minutes"?: number
  readonly steps: ReadonlyArray<Step>
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>
  readonly permissions?: Readonly<Record<string, string>>
  readonly jobs: Readonly<Record<string, Job>>
}

/** A workflow as the forge reads it. */
export const workflowOf = (text: string): Workflow => parse(text) as Workflow

/** The commits of actions that may run, each read from the action's own tag. */
const ACTIONS: Readonly<Record<string, string>> = {
  "actions/checkout": "3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1",
  "actions/setup-node": "820762786026740c76f36085b0efc47a31fe5020 # v7.0.0",
  "actions/upload-artifact": "bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0",
  "actions/download-artifact": "3e5f45b2cfb9172054b4087a40e8e0b5a5461e7c # v8.0.1",
  "actions/attest-build-provenance": "a2bbfa25375fe432b6a289bc6b6cd05ecd0c4c32 # v4.1.0",
  "ossf/scorecard-action": "2d1146689b8cda280b9bc96326124645441f03bc # v2.4.4",
  "sigstore/cosign-installer": "6f9f17788090df1f26f669e9d70d6ae9567deba6 # v4.1.2",
  "helm/kind-action": "ef37e7f390d99f746eb8b610417061a60e82a6cc # v1.14.0",
}

/** Events whose workflows run with the repository's rights on what strangers wrote are not among them. */
const EVENTS = ["push", "pull_request", "release", "schedule"]

/** Our commands, and programs that move finished files or ask about them. */
const COMMANDS =
  /^(?:npm ci|npm run release(?::fetch|:check)?|sudo env "PATH=\$PATH" \.ci\/run|\.ci\/chart|apt-get (?:update|install)|helm (?:lint|push|registry login)|skopeo (?:copy|login)|gh (?:release (?:create|download)|api)|cosign verify-blob-attestation|npx --yes npm@[\d.]+ publish|pipx run --spec twine==[\d.]+ twine upload)(?: |$)/

/** What a workflow may insert: nothing that a stranger writes. */
const EXPRESSIONS = ["github.token", "github.ref", "github.repository", "!github.event.release.prerelease"]

/** Variables of the runner that a stranger can write, by the name of a branch or the text of an event. */
const FOREIGN =
  /GITHUB_(?:HEAD_REF|BASE_REF|EVENT_PATH|EVENT)\b|github\.event\.(?!release\.prerelease\b)|github\.head_ref/

const writesOf = ({ permissions = {} }: Job): ReadonlyArray<string> =>
  Object.entries(permissions).flatMap(([name, right]) => (right === "write" ? [name] : []))

/** Whether a job brings something into a registry. */
const publishes = ({ steps }: Job): boolean =>
  steps.some(({ run = "" }) => /publish|twine upload|skopeo copy|helm push|gh api/.test(run))

const actionFindings = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/uses: *(.*)$/gm)].flatMap(([, used = ""]) => {
    const [name = "", commit] = used.split("@")
    return ACTIONS[name] === commit ? [] : [`uses ${used}, which is not in the list with this commit and version`]
  })

const stepFindings = ({ run, uses = "", with: options = {} }: Step): ReadonlyArray<string> => [
  ...(uses.startsWith("actions/checkout@") && options["persist-credentials"] !== false
    ? ["leaves credentials in the checkout"]
    : []),
  ...(run !== undefined && run.includes("${{") ? [`inserts an expression into "${run}"`] : []),
  ...(run !== undefined && !COMMANDS.test(run) ? [`runs "${run}", which is neither ours nor moves files`] : []),
  ...(run?.trim().includes("\n") === true ? [`has logic in "${run}"`] : []),
]

const jobFindings = (job: Job): ReadonlyArray<string> => {
  const writes = writesOf(job)
  const runsPackages = job.steps.some(({ run = "" }) => /^npm |\.ci\//.test(run))
  return [
    ...job.steps.flatMap(stepFindings),
    ...(writes.length > 0 && runsPackages ? [`runs packages of others with the right to write ${writes.join()}`] : []),
    ...(publishes(job) && job.environment !== "registries" ? ["publishes outside of the protected environment"] : []),
    ...(publishes(job) && job.needs !== "verify" ? ["publishes what was not verified"] : []),
    ...(job.container !== undefined && !/@sha256:[0-9a-f]{64}$/.test(job.container)
      ? ["runs in an image without a digest"]
      : []),
    ...(job["timeout-minutes"] === undefined ? ["has no timeout"] : []),
  ]
}

/** What is wrong with a workflow. */
export const findings = (text: string): ReadonlyArray<string> => {
  const workflow = workflowOf(text)
  const expressions = [...text.matchAll(/\$\{\{ *(.*?) *\}\}/g)].map(([, expression = ""]) => expression)
  return [
    ...Object.keys(workflow.on)
      .filter((event) => !EVENTS.includes(event))
      .map((event) => `runs on ${event}`),
    ...(JSON.stringify(workflow.permissions) === '{"contents":"read"}' ? [] : ["may do more than read by default"]),
    ...expressions.filter((each) => !EXPRESSIONS.includes(each)).map((each) => `inserts ${each}`),
    ...(FOREIGN.test(text) ? ["reads the text of strangers"] : []),
    ...actionFindings(text),
    ...Object.entries(workflow.jobs).flatMap(([name, job]) => jobFindings(job).map((each) => `${name} ${each}`)),
  ]
}
