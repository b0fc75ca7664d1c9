import { createHash } from 'node:crypto'
import {
  chmodSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from './on-demand/root.ts'

const NAMES = ['node-proxy', 'orch-server', 'orchctl', 'orch-dns'] as const
/** What labs start beside the programs, by the path of its main file. */
const OF_LABS = {
  'lab-agent': 'test/support/agent/main.ts',
  'stub-api': 'test/support/stub-api/main.ts',
} as const
/** What the programs read beside their own code. */
const BESIDE = ['config', 'node_modules', 'package.json', 'scripts', 'src']
const FOLDER = 'NP_PROGRAMS'
const DAY_MS = 24 * 60 * 60_000

/**
 * The launcher of a program: of the bundle that images ship, which starts in half the processor time, where vitest made
 * one, and otherwise that of the checkout.
 */
export function launcherOf(name: (typeof NAMES)[number]): string {
  return join(programsFolder(), 'bin', name)
}

/** What pages call `/opt/node-proxy`: the launchers in `bin` are those of `launcherOf`. */
export function programsFolder(): string {
  return process.env[FOLDER] ?? root
}

/** The file with which a lab starts one of its own programs or threads: bundled likewise, or that of the checkout. */
export function mainOfLab(name: keyof typeof OF_LABS): string {
  const folder = process.env[FOLDER]
  return folder === undefined ? join(root, OF_LABS[name]) : join(folder, `lib/${name}.js`)
}

/** Before the tests of a project of vitest: bundles the programs, unless that was done since their source changed. */
export async function setup(): Promise<void> {
  const folder = join(root, 'dist/programs', stateOfSource())
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) await makePrograms(folder)
  const now = new Date()
  utimesSync(folder, now, now)
  removeUnused(dirname(folder), now)
  process.env[FOLDER] = folder
}

/** Whole at once, also where another run makes the same. */
async function makePrograms(folder: string): Promise<void> {
  const { bundleMains, bundlePrograms, launched } = await import('../../packaging/bundle/bundle.ts')
  mkdirSync(dirname(folder), { recursive: true })
  const made = mkdtempSync(`${folder}.`)
  chmodSync(made, 0o755)
  for (const place of ['bin', 'lib']) mkdirSync(join(made, place))
  for (const place of BESIDE) symlinkSync(join('../../..', place), join(made, place))
  const bundles = [await bundleMains(root, OF_LABS), await bundlePrograms(root, NAMES)]
  const files = bundles.flatMap((bundle) => [...bundle.files])
  for (const [path, code] of files) writeFileSync(join(made, path), code)
  for (const name of NAMES) {
    const launcher = readFileSync(join(root, 'bin', name), 'utf8')
    const text = launcher.replaceAll(launched(root, name).main, `lib/${name}.js`)
    writeFileSync(join(made, 'bin', name), text, { mode: 0o755 })
  }
  try {
    renameSync(made, folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw error
    rmSync(made, { recursive: true })
  }
}

/** Those of earlier sources, and of runs that were killed: nothing has used them for a day. */
function removeUnused(parent: string, now: Date): void {
  for (const name of readdirSync(parent)) {
    const folder = join(parent, name)
    const used = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (now.getTime() - used > DAY_MS) rmSync(folder, { recursive: true, force: true })
  }
}

/** Another one after every change of what a bundle is made of. */
function stateOfSource(): string {
  const labs = Object.values(OF_LABS).map((main) => join(dirname(main), '*.ts'))
  const patterns = ['src/**/*.ts', 'packaging/bundle/*.ts', 'bin/*', 'package-lock.json', ...labs]
  const state = createHash('sha256')
  for (const path of globSync(patterns, { cwd: root }).toSorted()) {
    const { mtimeMs, size } = statSync(join(root, path))
    state.update(`${path} ${mtimeMs} ${size}\n`)
  }
  return state.digest('hex').slice(0, 16)
}
