import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Limits, Plan } from './plan.ts'
import { subjectsNamed } from './subjects.ts'

export const USAGE = `Usage: scripts/node bench/masquerade/main.ts [options]

  --rates=20,100,500            connections a second, of all clients together
  --clients=1,2,10,100          addresses of clients
  --binds=no,yes                whether clients choose their ports by bind(2)
  --minutes=3                   for each cell
  --subjects=NAME,…             or beginnings of names; default: node-proxy in the modes iptables and
                                nftables, and kube-proxy. Those of ipvs mode run in User-mode Linux
                                where the kernel has no ip_vs
  --processes=1, --per-second=2500
                                side by side at most; a process measures all loads of one rate and subject.
                                More than one only on a machine that does nothing else
  --keep                        replace only what this run measures
  --into=FOLDER                 where RESULTS.md and results/ go; default bench

Needs root. Everything happens in network namespaces of its own.
`

export interface Options {
  readonly plan: Plan
  readonly limits: Limits
  readonly keep: boolean
  readonly into: string
}

const DEFAULT = ['node-proxy iptables', 'node-proxy nftables', 'kube-proxy']

/** Throws with a message for the user. */
export function parseOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rates: { type: 'string', default: '20,100,500' },
      clients: { type: 'string', default: '1,2,10,100' },
      binds: { type: 'string', default: 'no,yes' },
      minutes: { type: 'string', default: '3' },
      subjects: { type: 'string', default: DEFAULT.join(',') },
      processes: { type: 'string', default: '1' },
      'per-second': { type: 'string', default: '2500' },
      keep: { type: 'boolean', default: false },
      into: { type: 'string', default: join(import.meta.dirname, '..') },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return 'help'
  const numbers = (name: 'rates' | 'clients' | 'minutes' | 'processes' | 'per-second') =>
    values[name].split(',').map((text) => positive(name, text))
  const one = (name: 'minutes' | 'processes' | 'per-second') => numbers(name)[0] ?? 1
  return {
    plan: {
      rates: numbers('rates'),
      clients: numbers('clients'),
      binds: values.binds.split(',').map((word) => word === 'yes'),
      seconds: Math.ceil(one('minutes') * 60),
      subjects: subjectsNamed(values.subjects.split(',')),
    },
    limits: { processes: one('processes'), perSecond: one('per-second') },
    keep: values.keep,
    into: values.into,
  }
}

function positive(name: string, text: string): number {
  const value = Number(text)
  if (value > 0) return value
  throw new Error(`--${name}: ${JSON.stringify(text)} is not a number above 0`)
}
