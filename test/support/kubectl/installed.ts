import { spawnSync } from 'node:child_process'
import {
  globSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { root } from '../on-demand/root.ts'

/** A kubectl of this machine. */
export interface Kubectl {
  readonly path: string
  /** `1.33.1` */
  readonly version: string
  /** `33` */
  readonly minor: number
}

const VERSIONS = join(root, 'node_modules/.cache/kubectl')

/**
 * The kubectls under test: the oldest and the newest in the folders of PATH, where several versions may be installed
 * (`kubectl.1.31`). `NP_KUBECTLS=all` selects all of them, and a list of paths exactly those. Without any, tests are
 * skipped; with `CI=true` that is a failure.
 */
export function installedKubectls(): readonly Kubectl[] {
  const wanted = process.env['NP_KUBECTLS'] ?? ''
  const paths = wanted === '' || wanted === 'all' ? found() : wanted.split(delimiter)
  const all = paths.flatMap(asKubectl).sort((a, b) => a.minor - b.minor)
  if (all.length === 0) complain()
  if (wanted !== '' || all.length <= 2) return all
  return [all[0]!, all.at(-1)!]
}

function found(): readonly string[] {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const named = folders.flatMap((folder) => globSync(join(folder, 'kubectl')))
  const beside = named.flatMap((path) =>
    globSync(join(dirname(realpathSync(path)), 'kubectl?(.1.*)')),
  )
  return [...new Set([...named, ...beside].map((path) => realpathSync(path)))]
}

/** Variables with which a kubectl that soon ends takes less processor time: one thread, which collects no garbage. */
export const SHORT_LIVED = { GOMAXPROCS: '1', GOGC: 'off' } as const

/** The newest one; without any, the name that a shell would look for. */
export function newestKubectl(): string {
  return installedKubectls().at(-1)?.path ?? 'kubectl'
}

/** Empty for a program that reports no version of its own, such as a wrapper that chooses a kubectl. */
function asKubectl(path: string): readonly Kubectl[] {
  const known = /"gitVersion": "v(1\.(\d+)\.[^"-]+)"/.exec(versionOf(path))
  return known === null ? [] : [{ path, version: known[1]!, minor: Number(known[2]) }]
}

/** What `kubectl version` prints, which is kept: to start all kubectls of a machine takes seconds. */
function versionOf(path: string): string {
  const { mtimeMs, size } = statSync(path)
  const kept = join(VERSIONS, encodeURIComponent(`${path} ${mtimeMs} ${size}`))
  try {
    return readFileSync(kept, 'utf8')
  } catch {
    const words = ['version', '--client', '--output=json']
    const { status, stdout } = spawnSync(path, words, { encoding: 'utf8' })
    if (status !== 0) return ''
    mkdirSync(VERSIONS, { recursive: true })
    writeFileSync(`${kept}.${process.pid}`, stdout)
    renameSync(`${kept}.${process.pid}`, kept)
    return stdout
  }
}

function complain(): void {
  const words =
    "no kubectl: its tests need Debian's package kubernetes-client (scripts/setup installs it)"
  if (process.env['CI'] === 'true') throw new Error(words)
  process.stderr.write(`${words}\n`)
}
