import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { findInstallation, type Installation } from '../../../../src/uml/installation.ts'
import { installMissing } from '../../../support/on-demand/install-missing.ts'
import { step } from '../../../support/on-demand/step.ts'
import { MODULES, modulesFolder } from './modules.ts'

const WHO = 'ipvs'
const WANTED = {
  bc: '/usr/bin/bc',
  bison: '/usr/bin/bison',
  flex: '/usr/bin/flex',
  gcc: '/usr/bin/gcc',
  make: '/usr/bin/make',
  'xz-utils': '/usr/bin/xz',
}
/** What the kernel of Debian's package was built without. */
const SETTINGS = [
  'CONFIG_NF_TABLES_IPV4=y',
  'CONFIG_NF_TABLES_IPV6=y',
  'CONFIG_NFT_FIB_IPV4=m',
  'CONFIG_NFT_FIB_IPV6=m',
  'CONFIG_NFT_REJECT_IPV4=m',
  'CONFIG_NFT_REJECT_IPV6=m',
]
/** What of the source these modules are built from: a seventh of it. */
const PARTS = [
  'Makefile',
  'Kbuild',
  '*Kconfig*',
  'arch/um',
  'arch/x86',
  'include',
  'kernel',
  'net',
  'scripts',
  'security/selinux/include',
  'tools/include',
]

/** Builds the modules of `MODULES` for the installed kernel of User-mode Linux, unless that was done before. */
export async function buildModules(signal: AbortSignal): Promise<void> {
  const installation = await findInstallation()
  const folder = modulesFolder(installation.release)
  if (existsSync(folder)) return
  await installMissing(WHO, WANTED)
  mkdirSync(join(folder, '..'), { recursive: true })
  const scratch = mkdtempSync(`${folder}-`)
  try {
    await step(WHO, 'fetching Debian’s source of the kernel', () =>
      fetchSource(scratch, installation, signal),
    )
    await step(WHO, 'building modules of nf_tables', () => build(scratch, installation, signal))
    const made = join(scratch, 'made')
    mkdirSync(made)
    for (const { folder: at, name } of MODULES) {
      copyFileSync(join(scratch, at, `${name}.ko`), join(made, `${name}.ko`))
    }
    renameSync(made, folder)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** Unpacks the source of exactly this kernel; throws if Debian has another one by now. */
async function fetchSource(
  scratch: string,
  { release }: Installation,
  cancelSignal: AbortSignal,
): Promise<void> {
  const run = { cwd: scratch, cancelSignal, stdin: 'ignore' } as const
  const series = release.split('.').slice(0, 2).join('.')
  const source = `linux-source-${series}`
  const download = ['-o', 'APT::Sandbox::User=root', 'download', `${source}=${release}-*`]
  await execa('apt-get', download, run).catch(async () => {
    await execa('apt-get', ['update'], run)
    await execa('apt-get', download, run)
  })
  const parts = PARTS.map((part) => `'${source}/${part}'`).join(' ')
  const unpack = `dpkg-deb --fsys-tarfile ${source}_*.deb | tar -xO ./usr/src/${source}.tar.xz |
    tar -xJ --strip-components=1 --wildcards ${parts}`
  await execa('bash', ['-euo', 'pipefail', '-c', unpack], run)
}

async function build(
  scratch: string,
  { program }: Installation,
  cancelSignal: AbortSignal,
): Promise<void> {
  const { stdout } = await execa(program, ['--showconfig'], { cancelSignal })
  const overridden = new Set(SETTINGS.map(nameOf))
  const kept = stdout.split('\n').filter((line) => !overridden.has(nameOf(line)))
  await writeFile(join(scratch, '.config'), `${[...kept, ...SETTINGS].join('\n')}\n`)
  const make = async (...args: readonly string[]): Promise<void> => {
    const jobs = `-j${availableParallelism()}`
    await execa('make', ['ARCH=um', jobs, ...args], {
      cwd: scratch,
      cancelSignal,
      stdin: 'ignore',
    })
  }
  await make('olddefconfig')
  await make('modules_prepare')
  for (const folder of new Set(MODULES.map((module) => module.folder))) {
    const names = MODULES.filter((module) => module.folder === folder)
    // What the modules need of others is known when they are loaded.
    await make('KBUILD_MODPOST_WARN=1', `M=${folder}`, ...names.map(({ name }) => `${name}.ko`))
  }
}

/** The name in a line of a configuration, which may say that it is not set. */
function nameOf(line: string): string {
  return /CONFIG_\w+/.exec(line)?.[0] ?? line
}
