import { parseArgs } from 'node:util'
import { ENDPOINTS_PER_SERVICE } from './cluster/objects.ts'
import { FULL, QUICK, type Repeats } from './repeats.ts'
import type { Backend } from './report/results.ts'

const MODES = [
  'promise',
  'iptables',
  'ipvs',
  'nftables',
  'userspace',
  'apiserver',
  'auth',
  'dns',
  'inspection',
  'page',
  'cluster-page',
] as const

export type ModeName = (typeof MODES)[number]

/** A number of Services, and the number of endpoints of each. */
export interface Shape {
  readonly services: number
  readonly endpoints: number
}

export interface Options {
  /** Undefined: all modes that this machine can run. */
  readonly modes: readonly ModeName[] | undefined
  /** Sizes for the modes iptables and ipvs: numbers of Services with ten endpoints each. */
  readonly sizes: readonly number[]
  /** Sizes for the mode nftables. */
  readonly shapes: readonly Shape[]
  readonly backends: readonly Backend[]
  readonly quick: boolean
  readonly repeats: Repeats
  /** Whether to keep cells of earlier runs that this run does not measure. */
  readonly keep: boolean
  /** Folder that gets RESULTS.md and results/. */
  readonly into: string
}

export const USAGE = `Usage: npm run bench -- [options]

  --modes=promise,iptables,ipvs,nftables,userspace,apiserver,auth,dns,inspection,
          page,cluster-page     default: all that this machine can do; ipvs in User-mode Linux
                                where the kernel has no ip_vs
  --sizes=100,1000,5000,10000,50000x2,5000x50
                                numbers of Services, ten endpoints each unless stated; of the modes
                                iptables, ipvs (where those with other endpoints are left out), nftables
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
      sizes: { type: 'string', default: '100,1000,5000,10000,50000x2,5000x50' },
      backends: { type: 'string', default: 'nft,legacy' },
      quick: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
      into: { type: 'string', default: import.meta.dirname },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  const shapes = values.sizes.split(',').map(parseShape)
  return {
    modes: values.modes?.split(',').map(parseMode),
    sizes: shapes
      .filter(({ endpoints }) => endpoints === ENDPOINTS_PER_SERVICE)
      .map(({ services }) => services),
    shapes,
    backends: values.backends.split(',').map(parseBackend),
    quick: values.quick,
    repeats: values.quick ? QUICK : FULL,
    keep: values.keep,
    into: values.into,
  }
}

function parseShape(text: string): Shape {
  const [services = Number.NaN, endpoints = ENDPOINTS_PER_SERVICE, ...rest] = text
    .split('x')
    .map(Number)
  const isWithin = (number: number, most: number) =>
    Number.isInteger(number) && number >= 1 && number <= most
  if (isWithin(services, 50_000) && isWithin(endpoints, 100) && rest.length === 0) {
    return { services, endpoints }
  }
  const wanted = 'a number from 1 to 50000, or such a number, x and a number from 1 to 100'
  throw new Error(`--sizes: ${JSON.stringify(text)} is not ${wanted}`)
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
