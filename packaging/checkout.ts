import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodePackage } from './node-program.ts'

/** What packages are made of, and as which version. */
export interface Checkout {
  /** Its folder. */
  readonly root: string
  /** As programs print it: a semantic version. */
  readonly version: string
  /** Seconds since the epoch: the time of every file in a package. */
  readonly epoch: number
}

const VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.]+)?$/
const MANIFEST = 'package.json'

/**
 * A checkout in which `npm ci` ran. `version` replaces that of its package.json.
 * @throws Error with the field, its value and the remedy
 */
export function openCheckout(root: string, version?: string): Checkout {
  const missing = [
    MANIFEST,
    'node_modules/.package-lock.json',
    `${nodePackage(process.arch)}/bin/node`,
  ].find((path) => !existsSync(join(root, path)))
  if (missing !== undefined) {
    throw new Error(`--checkout: ${root} has no ${missing}: name a checkout in which npm ci ran`)
  }
  const chosen = version ?? versionOf(root)
  if (!VERSION.test(chosen)) {
    throw new Error(
      `--version: "${chosen}" is no semantic version: write one as 0.1.0 or 0.2.0-rc.1`,
    )
  }
  return { root, version: chosen, epoch: sourceDateOf(root) }
}

function versionOf(root: string): string {
  const { version } = JSON.parse(readFileSync(join(root, MANIFEST), 'utf8')) as {
    readonly version: string
  }
  return version
}

/** The main file that a launcher of `bin` starts, from the root of the checkout. */
export function programOf(root: string, launcher: string): string {
  const [main] = /src\/[\w./-]+\/main\.ts/.exec(readFileSync(join(root, launcher), 'utf8')) ?? []
  if (main === undefined) throw new Error(`${launcher} starts no src/…/main.ts`)
  return main
}

/**
 * The time of every file that is built, in seconds since 1970: SOURCE_DATE_EPOCH
 * (https://reproducible-builds.org/specs/source-date-epoch/), or else when the last commit was made.
 */
export function sourceDateOf(root: string): number {
  const text = process.env['SOURCE_DATE_EPOCH'] ?? commitTime(root)
  if (/^\d{1,11}$/.test(text)) return Number(text)
  throw new Error(
    `SOURCE_DATE_EPOCH: "${text}" is no number of seconds since 1970: set it, or name a git checkout`,
  )
}

function commitTime(root: string): string {
  const words = ['-C', root, 'log', '-1', '--format=%ct']
  try {
    return execFileSync('git', words, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return ''
  }
}
