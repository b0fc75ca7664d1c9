import { readFileSync } from 'node:fs'
import type { MissingRequirement } from '../../modes/mode.ts'

/** The rights of a process (capabilities(7)). */
export interface Rights {
  /** CAP_NET_ADMIN: to write rules, IP sets, routes and kernel settings, and to cut tracked flows. */
  readonly netAdmin: boolean
}

const CAP_NET_ADMIN = 12n
const EFFECTIVE = /^CapEff:\s*([0-9a-f]+)$/m

/** The effective rights of a process, from its /proc/PID/status; none when that is unreadable. */
export function readRights(statusFile = '/proc/self/status'): Rights {
  const mask = EFFECTIVE.exec(readText(statusFile))?.[1] ?? '0'
  return { netAdmin: ((BigInt(`0x${mask}`) >> CAP_NET_ADMIN) & 1n) === 1n }
}

/** What a process without CAP_NET_ADMIN is missing. */
export const NO_RULES: MissingRequirement = {
  code: 'NP_NODEPROXY_UNPRIVILEGED',
  what: 'this process has no right to write rules (CAP_NET_ADMIN)',
  remedy:
    'run it as root or with CAP_NET_ADMIN; without, use --proxy-mode=userspace with --userspace-bind-map',
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
