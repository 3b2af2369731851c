/** A fresh Debian in a folder, in which tests install the package as root. */
import { assert } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { cache, succeeds } from "./build.ts"

/** What the package depends on and recommends, besides what every Debian has. */
const PACKAGES = ["adduser", "libatomic1", "libstdc++6", "postgresql"]

const ROOT = join(cache, "debian-bookworm.tar")

/** Makes the root once: later tests unpack it. */
const makeRoot = (): boolean => {
  if (existsSync(ROOT)) return true
  const part = `${ROOT}.part`
  const options = ["--variant=minbase", `--include=${PACKAGES.join(",")}`]
  const { status } = spawnSync("debootstrap", [...options, "bookworm", part], { stdio: "ignore" })
  try {
    if (status !== 0) return false
    if (!succeeds("tar", "-cf", `${part}.tar`, "-C", part, "--exclude=./dev/*", "--exclude=./var/cache/apt/*", "."))
      return false
    renameSync(`${part}.tar`, ROOT)
    return true
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
}

/** Why there is no fresh Debian here; undefined if there is one. */
export const whyNoDebian = (): string | undefined => {
  if (process.platform !== "linux" || process.arch !== "x64") return "the test needs a Linux on x64"
  if (process.getuid?.() !== 0) return "only root can install packages"
  if (!succeeds("debootstrap", "--version")) return "there is no debootstrap here"
  if (!succeeds("unshare", "--net", "--mount", "--pid", "--fork", "true")) return "namespaces are not available here"
  return makeRoot() ? undefined : "debootstrap cannot reach a mirror"
}

/** The commands of an administrator, each under a heading in the output. */
const SCRIPT = `
step() { echo "### $1"; }
step install; dpkg -i /keyshelf.deb
step verify; dpkg --verify keyshelf
pg_ctlcluster 15 main start
step "first setup"; keyshelf setup
step "second setup"; keyshelf setup
step settings; stat --format "%a %U:%G" /etc/keyshelf/keyshelf.env
as_service() { exec setpriv --reuid=keyshelf --regid=keyshelf --init-groups -- sh -c "set -a; . /etc/keyshelf/keyshelf.env; exec keyshelf $1"; }
step serve; as_service serve & service=$!
step health
/usr/lib/keyshelf/lib/node -e '
  const ask = () => fetch("http://127.0.0.1:8082/health/ready").then((r) => r.status === 200 ? r : Promise.reject(r))
  const again = () => ask().catch(() => new Promise((done) => setTimeout(done, 50)).then(again))
  again().then(async (r) => console.log(r.status, await r.text()))'
step doctor; (as_service doctor)
kill $service; wait $service
step "without libatomic1"; dpkg --force-depends --purge libatomic1 >/dev/null; keyshelf --version || true
step purge; dpkg --purge keyshelf
step left; find /usr/lib/keyshelf /usr/bin/keyshelf /etc/keyshelf -type f 2>/dev/null || true
pg_ctlcluster 15 main stop
`

/** Sets up the namespaces: no network but the loopback interface, and nothing that outlives the script. */
const ENTER = `
mount -t proc proc "$0/proc"
mount --rbind /dev "$0/dev"
ip link set lo up
exec chroot "$0" sh -e /script 2>&1`

/** Installs the package in a fresh Debian below `folder`. Returns the output of each step. */
export const installInDebian = (folder: string, file: string): Readonly<Record<string, string>> => {
  mkdirSync(folder)
  assert.isTrue(succeeds("tar", "-xf", ROOT, "-C", folder))
  cpSync(file, join(folder, "keyshelf.deb"))
  writeFileSync(join(folder, "script"), SCRIPT)
  const namespaces = ["--net", "--mount", "--pid", "--fork", "--kill-child"]
  const { status, stdout } = spawnSync("unshare", [...namespaces, "sh", "-ec", ENTER, folder], {
    encoding: "utf8",
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C.UTF-8" },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 300_000,
  })
  assert.strictEqual(status, 0, stdout)
  const steps = stdout.split(/^### /m).slice(1)
  return Object.fromEntries(
    steps.map((step) => [step.slice(0, step.indexOf("\n")), step.slice(step.indexOf("\n") + 1).trim()]),
  )
}
