import { spawnSync } from 'node:child_process'
import { globSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

/** A kubectl of this machine. */
export interface Kubectl {
  readonly path: string
  /** `1.33.1` */
  readonly version: string
  /** `33` */
  readonly minor: number
}

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

/** Empty for a program that reports no version of its own, such as a wrapper that chooses a kubectl. */
function asKubectl(path: string): readonly Kubectl[] {
  const { stdout } = spawnSync(path, ['version', '--client', '--output=json'], { encoding: 'utf8' })
  const known = /"gitVersion": "v(1\.(\d+)\.[^"-]+)"/.exec(stdout ?? '')
  return known === null ? [] : [{ path, version: known[1]!, minor: Number(known[2]) }]
}

function complain(): void {
  const words =
    "no kubectl: its tests need Debian's package kubernetes-client (scripts/setup installs it)"
  if (process.env['CI'] === 'true') throw new Error(words)
  process.stderr.write(`${words}\n`)
}
