import { execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { debianWith, isFresh, makeArchive } from '../docker/images/debian-base.ts'
import { aptInstall } from '../support/on-demand/apt.ts'
import { root } from '../support/on-demand/root.ts'
import { runOnDemand } from '../support/on-demand/run-command.ts'
import { runProject } from '../support/on-demand/run-project.ts'
import { step } from '../support/on-demand/step.ts'
import { VERSIONS } from './built-packages.ts'

const TIMEOUT_MS = 90 * 60_000
/** The commit that stands for the minor version before this one. */
const OLDER_COMMIT = '27be1978'
/** systemd, what our packages depend on, and what they recommend; `curl` is for the tests. */
const DEBIAN = [
  'adduser',
  'conntrack',
  'curl',
  'ipset',
  'iproute2',
  'iptables',
  'kmod',
  'libatomic1',
  'libstdc++6',
  'nftables',
  'procps',
  'systemd',
]
const NPM_PACKAGES = 'node_modules'
const SETTINGS = 'config/orch-server.yaml'
/** What runs inside of machines. */
const SCRIPTS = ['backend.script.ts', 'traffic.script.ts']

/**
 * `npm run test:packages [-- FILTER…]`: builds packages of this checkout and of an older commit, and installs, upgrades
 * and removes them on machines with systemd and a Debian of their own. Exits as the tests do.
 */
process.exitCode = await runOnDemand({ who: 'packages', timeoutMs: TIMEOUT_MS, run })

async function run(args: readonly string[], signal: AbortSignal): Promise<number> {
  if (process.getuid?.() !== 0) throw new Error('only root can start machines')
  const folder = mkdtempSync('/var/tmp/np-packages-')
  try {
    await prepareDebian(join(folder, 'debian'), signal)
    await step('packages', 'building packages of this checkout', () =>
      build(join(folder, 'shared/new'), root, VERSIONS.new),
    )
    await step('packages', `building packages of ${OLDER_COMMIT}`, async () => {
      await build(join(folder, 'shared/old'), olderCheckout(join(folder, 'older')), VERSIONS.old)
    })
    for (const script of SCRIPTS) {
      copyFileSync(join(import.meta.dirname, script), join(folder, 'shared', script))
    }
    copyFileSync(process.execPath, join(folder, 'shared/node'))
    return await runProject('packages', args, { env: { NP_PACKAGES: folder }, signal })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Extracts a Debian with systemd; debootstrap makes it at most once a week. */
async function prepareDebian(folder: string, signal: AbortSignal): Promise<void> {
  const base = debianWith(DEBIAN)
  if (!isFresh(base)) {
    if (!existsSync('/usr/sbin/debootstrap')) {
      await aptInstall(['debootstrap', 'debian-archive-keyring'])
    }
    await makeArchive(base, signal)
  }
  mkdirSync(folder)
  await execa('tar', ['-C', folder, '-xf', base.archive])
}

/** The files of an older commit; the npm packages are those of this checkout, which `build` puts there. */
function olderCheckout(folder: string): string {
  mkdirSync(folder)
  const archive = execFileSync('git', ['-C', root, 'archive', OLDER_COMMIT], {
    maxBuffer: 1 << 30,
  })
  execFileSync('tar', ['-C', folder, '-x'], { input: archive })
  mkdirSync(join(folder, NPM_PACKAGES))
  // The commit has no such file yet.
  copyFileSync(join(root, SETTINGS), join(folder, SETTINGS))
  return folder
}

/** Uncompressed, because that takes seconds. */
async function build(output: string, checkout: string, version: string): Promise<void> {
  const names = version === VERSIONS.new ? [] : ['node-proxy', 'orch-server', 'orchctl']
  const options = ['--output', output, '--checkout', checkout, '--version', version]
  const program = [process.execPath, join(root, 'packaging/main.ts')]
  const [command = '', ...words] =
    checkout === root ? program : [...withPackagesAt(join(checkout, NPM_PACKAGES)), ...program]
  await execa(command, [...words, ...options, '--compression', 'none', ...names], {
    env: { SOURCE_DATE_EPOCH: '1767225600' },
  })
}

/** What runs a program to which the npm packages of this checkout are in `folder`, as if npm had installed them there. */
function withPackagesAt(folder: string): readonly string[] {
  const script = 'mount --bind "$1" "$2"; shift 2; exec "$@"'
  return ['unshare', '--mount', 'sh', '-ec', script, 'sh', join(root, NPM_PACKAGES), folder]
}
