import { parseArgs } from 'node:util'
import { FULL, QUICK, type Repeats } from './repeats.ts'
import type { Backend } from './report/results.ts'

const MODES = ['iptables', 'ipvs', 'userspace', 'apiserver', 'auth'] as const

export type ModeName = (typeof MODES)[number]

export interface Options {
  /** Undefined: all that this machine can do. */
  readonly modes: readonly ModeName[] | undefined
  readonly sizes: readonly number[]
  readonly backends: readonly Backend[]
  readonly quick: boolean
  readonly repeats: Repeats
  /** Keep the cells of earlier runs that this one does not measure. */
  readonly keep: boolean
  /** Folder that gets RESULTS.md and results/. */
  readonly into: string
}

export const USAGE = `Usage: npm run bench -- [options]

  --modes=iptables,ipvs,userspace,apiserver,auth
                                default: all that this machine can do; ipvs in User-mode Linux
                                where the kernel has no ip_vs
  --sizes=100,1000,5000,10000   numbers of Services, ten endpoints each; of the modes iptables, ipvs
  --backends=nft,legacy         iptables variants
  --quick                       few repetitions: for trying out, not for quoting
  --keep                        replace only what this run measures
  --into=FOLDER                 where RESULTS.md and results/ go; default bench

Needs root. Everything happens in network namespaces of its own.
`

/** Throws with a message for the user. */
export function parseOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      modes: { type: 'string' },
      sizes: { type: 'string', default: '100,1000,5000,10000' },
      backends: { type: 'string', default: 'nft,legacy' },
      quick: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      into: { type: 'string', default: import.meta.dirname },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  return {
    modes: values.modes?.split(',').map(parseMode),
    sizes: values.sizes.split(',').map(parseSize),
    backends: values.backends.split(',').map(parseBackend),
    quick: values.quick,
    repeats: values.quick ? QUICK : FULL,
    keep: values.keep,
    into: values.into,
  }
}

function parseSize(text: string): number {
  const size = Number(text)
  if (Number.isInteger(size) && size >= 1 && size <= 50_000) return size
  throw new Error(`--sizes: ${JSON.stringify(text)} is not a number from 1 to 50000`)
}

function parseMode(text: string): ModeName {
  const mode = MODES.find((name) => name === text)
  if (mode !== undefined) return mode
  throw new Error(`--modes: ${JSON.stringify(text)} is none of ${MODES.join(', ')}`)
}

function parseBackend(text: string): Backend {
  if (text === 'nft' || text === 'legacy') return text
  throw new Error(`--backends: ${JSON.stringify(text)} is neither nft nor legacy`)
}
