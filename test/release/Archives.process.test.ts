import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ar, gzip, tar, zip } from "../../release/Archives.ts"
import type { Entry } from "../../release/Archives.ts"

const TIME = Date.UTC(2026, 10, 28, 8, 30, 14) / 1000

const LONG = `${"folder/".repeat(20)}${"n".repeat(90)}`

const file = (path: string, text: string, isExecutable = false): Entry => ({
  path,
  content: Buffer.from(text),
  isExecutable,
})

const entries: ReadonlyArray<Entry> = [
  file("b/run", "#!/bin/sh\necho ran\n", true),
  file("a", "first"),
  file("b/\u00e4", ""),
  file(LONG, "deep"),
]

const inFolder = <A>(use: (folder: string) => A): A => {
  const folder = mkdtempSync(join(tmpdir(), "archives-"))
  try {
    return use(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const run = (folder: string, command: string, ...args: ReadonlyArray<string>): string => {
  const { status, stderr, stdout } = spawnSync(command, args, { cwd: folder, encoding: "utf8" })
  assert.strictEqual(status, 0, `${command} ${args.join(" ")}: ${stderr}`)
  return stdout
}

const unpacked = (folder: string) => {
  assert.strictEqual(readFileSync(join(folder, "a"), "utf8"), "first")
  assert.strictEqual(readFileSync(join(folder, "b/\u00e4"), "utf8"), "")
  assert.strictEqual(readFileSync(join(folder, LONG), "utf8"), "deep")
  assert.strictEqual(run(folder, join(folder, "b/run")), "ran\n")
}

describe("an archive", () => {
  it("of tar and gzip is read by tar, with links, modes, owner and time", () =>
    inFolder((folder) => {
      writeFileSync(join(folder, "x.tar.gz"), gzip(tar([...entries, { path: "c", target: "b/run" }], TIME)))
      const list = run(folder, "env", "TZ=UTC", "tar", "-tvzf", "x.tar.gz", "--full-time")
      assert.match(list, /-rwxr-xr-x root\/root +19 2026-11-28 08:30:14 b\/run/)
      assert.match(list, /-rw-r--r-- root\/root +5 2026-11-28 08:30:14 a/)
      assert.match(list, /drwxr-xr-x root\/root +0 2026-11-28 08:30:14 b\//)
      assert.match(list, /c -> b\/run/)
      mkdirSync(join(folder, "out"))
      run(folder, "tar", "-xzf", "x.tar.gz", "-C", "out")
      unpacked(join(folder, "out"))
      assert.strictEqual(run(folder, join(folder, "out/c")), "ran\n")
    }))

  it("of ZIP is read by Python, with modes and time", () =>
    inFolder((folder) => {
      writeFileSync(join(folder, "x.zip"), zip(entries, TIME))
      const script = `import zipfile, os
z = zipfile.ZipFile("x.zip")
assert z.testzip() is None
for i in z.infolist():
    p = z.extract(i, "out"); os.chmod(p, i.external_attr >> 16); print(oct(i.external_attr >> 16), i.date_time, i.filename)`
      const list = run(folder, "python3", "-c", script)
      assert.include(list, "0o100755 (2026, 11, 28, 8, 30, 14) b/run")
      unpacked(join(folder, "out"))
    }))

  it("of ar is read by ar", () =>
    inFolder((folder) => {
      writeFileSync(
        join(folder, "x.a"),
        ar(
          [
            { name: "one", content: Buffer.from("odd") },
            { name: "two", content: Buffer.from("two\n") },
          ],
          TIME,
        ),
      )
      run(folder, "ar", "x", "x.a")
      assert.strictEqual(readFileSync(join(folder, "one"), "utf8"), "odd")
      assert.strictEqual(readFileSync(join(folder, "two"), "utf8"), "two\n")
    }))

  it("has the same bytes for the same content, in whatever order it is given", () => {
    for (const archive of [tar, zip]) {
      assert.isTrue(Buffer.from(archive(entries, TIME)).equals(archive(entries.toReversed(), TIME)))
      assert.isFalse(Buffer.from(archive(entries, TIME)).equals(archive(entries, TIME + 2)))
    }
    assert.isTrue(Buffer.from(gzip(tar(entries, TIME))).equals(gzip(tar(entries, TIME))))
  })

  it("with two entries of one path, or a path that is too long, is refused by name", () => {
    assert.throws(() => tar([file("a", "1"), file("a", "2")], TIME), "two entries a")
    assert.throws(() => tar([file("n".repeat(101), "1")], TIME), "too long")
  })
})
