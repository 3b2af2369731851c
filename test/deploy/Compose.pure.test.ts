import { assert, describe, it } from "@effect/vitest"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { version } from "../../release/Version.ts"
import { documents, root, text } from "./manifests.ts"
import type { Json } from "./manifests.ts"

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
    assert.strictEqual(String(services["nginx"]?.["depends_on"]?.["keyshelf"]?.["condition"]), "service_healthy")
    assert.include(JSON.stringify(services["keyshelf"]?.["healthcheck"]?.["test"]), "/health/ready")
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

  it("names each image of others by its digest, and ours by the version until a release has its digest", () => {
    const images = Object.values(services).map((service) => String(service["image"]))
    const [ours, others] = [
      images.filter((image) => image.startsWith("${")),
      images.filter((image) => !image.startsWith("${")),
    ]
    assert.lengthOf(others, 2)
    for (const image of others) assert.match(image, /^[a-z]+:[\w.-]+@sha256:[0-9a-f]{64}$/)
    assert.deepStrictEqual(new Set(ours), new Set([`\${KEYSHELF_IMAGE:?set it in .env}:${version()}`]))
  })

  it("contains no secrets: each comes from the environment file, and the example lists it without a value", () => {
    const example = text("deploy/.env.example")
    const used = [...text("deploy/compose.yaml").matchAll(/\$\{(\w+)(:[?-])?/g)]
    for (const [, name] of used) assert.match(example, new RegExp(`^${name}=`, "m"))
    for (const name of ["KEYSHELF_IMAGE", "POSTGRES_PASSWORD", "SERVICE_SECRET_KEY"]) {
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
