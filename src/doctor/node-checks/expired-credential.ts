import { checkOfEachNode } from '../evidence/node-check.ts'
import type { NodeFacts } from '../evidence/node-facts.ts'

/** The credential with which node-proxy reads the API has expired, or should have been renewed by now. */
export const expiredCredential = checkOfEachNode('expired-credential', ({ at, daemon }) =>
  (daemon?.credentials ?? [])
    .filter(({ expiresAt, lateFrom = expiresAt }) => at >= lateFrom)
    .map(({ kind, expiresAt }) => {
      const span = spanText(expiresAt - at)
      const when = expiresAt < at ? `expired ${span} ago` : `expires in ${span}`
      return {
        symptom: 'Changes do not arrive',
        cause: `the ${kind.replace('-', ' ')} of node-proxy ${when}: the API server will refuse it`,
        evidence: [
          `it ends at ${new Date(expiresAt).toISOString()}, by the clock of the node it is ${new Date(at).toISOString()}`,
        ],
        remedy:
          'give node-proxy a new one; a replaced file is read without a restart. Check the clock of the node, too',
        commands: ['curl -s 127.0.0.1:10249/metrics | grep credential', 'timedatectl'],
      }
    }),
)

/** The kinds of the credentials of node-proxy that have expired: `certificate`, `token`, `token-file` or `exec`. */
export function expiredKinds({ at, daemon }: Pick<NodeFacts, 'at' | 'daemon'>): readonly string[] {
  return (daemon?.credentials ?? [])
    .filter(({ expiresAt }) => expiresAt < at)
    .map(({ kind }) => kind)
}

const UNITS = [
  [86_400_000, 'days'],
  [3_600_000, 'hours'],
  [60_000, 'minutes'],
] as const

/** `3 days`, `2 hours`, `90 minutes`, `20 s`. `ms` may be negative. */
function spanText(ms: number): string {
  const span = Math.abs(ms)
  const [size, unit] = UNITS.find(([one]) => span >= 2 * one) ?? [1_000, 's']
  return `${Math.round(span / size)} ${unit}`
}
