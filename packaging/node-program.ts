import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { packagesOf } from './bundle/packages.ts'
import { withoutSymbols } from './elf.ts'

/** Node for one processor, as npm has it. */
export interface NodeProgram {
  readonly version: string
  /** The program of the npm package. */
  readonly official: Buffer
  /** The same without symbols and debugging information, which nothing reads while it runs: what is shipped. */
  readonly stripped: Buffer
  readonly licence: Buffer
}

/** Processors as Node calls them (`process.arch`), and what Debian and container images call them. */
export const PROCESSORS = { x64: 'amd64', arm64: 'arm64' } as const

export type Processor = keyof typeof PROCESSORS

/** The processor of this machine. @throws Error if npm has no Node for it */
export function ownProcessor(): Processor {
  const found = Object.keys(PROCESSORS).find((name) => name === process.arch)
  if (found === undefined) throw new Error(`there is no Node by npm for ${process.arch}`)
  return found as Processor
}

/** The npm package with Node for a processor, from the root of a checkout. */
export function nodePackage(processor: string): string {
  return `node_modules/node-linux-${processor}`
}

/**
 * The Node that a checkout's lock file names for a processor. npm installed that of this machine; another one is
 * downloaded once, and kept in `node_modules/.cache`.
 * @throws Error if it cannot be downloaded, or is not the one of the lock file
 */
export function nodeProgram(root: string, processor: Processor): NodeProgram {
  const installed = join(root, nodePackage(processor))
  const folder = existsSync(installed) ? installed : downloaded(root, processor)
  const read = (name: string) => readFileSync(join(folder, name))
  const { version } = JSON.parse(read('package.json').toString()) as { readonly version: string }
  const official = read('bin/node')
  return { version, official, stripped: withoutSymbols(official), licence: read('LICENSE') }
}

const MISSING = { version: '', integrity: '' }

function downloaded(root: string, processor: Processor): string {
  const [{ version, integrity } = MISSING] = packagesOf(root, [nodePackage(processor)])
  const cache = join(root, 'node_modules/.cache/node')
  const folder = join(cache, `${processor}-${version}`)
  if (existsSync(folder)) return folder
  mkdirSync(cache, { recursive: true })
  const scratch = mkdtempSync(join(cache, 'download-'))
  try {
    const name = `node-linux-${processor}`
    const words = ['pack', '--loglevel=error', '--pack-destination', scratch, `${name}@${version}`]
    execFileSync('npm', words, { stdio: ['ignore', 'ignore', 'inherit'] })
    const archive = join(scratch, `${name}-${version}.tgz`)
    const [algorithm = '', digest = ''] = integrity.split('-', 2)
    if (createHash(algorithm).update(readFileSync(archive)).digest('base64') !== digest) {
      throw new Error(`${name}@${version} is not the package that package-lock.json names`)
    }
    execFileSync('tar', ['-C', scratch, '-xzf', archive])
    renameSync(join(scratch, 'package'), folder)
    return folder
  } finally {
    rmSync(scratch, { recursive: true })
  }
}
