import { checkOfEachNode } from '../evidence/node-check.ts'

const HOUR_MS = 3_600_000
/** A certificate is not renewed by itself in its last day; tokens are renewed by others, some minutes before. */
const SOON_MS: Readonly<Record<string, number>> = { certificate: 24 * HOUR_MS }

/** The credential with which node-proxy reads the API has expired, or will before it is noticed. */
export const expiredCredential = checkOfEachNode('expired-credential', ({ at, daemon }) =>
  (daemon?.credentials ?? [])
    .filter(({ kind, expiresAt }) => expiresAt - at < (SOON_MS[kind] ?? 0))
    .map(({ kind, expiresAt }) => {
      const hours = Math.round(Math.abs(expiresAt - at) / HOUR_MS)
      const when = expiresAt < at ? `expired ${hours} hours ago` : `expires in ${hours} hours`
      return {
        symptom: 'Changes do not arrive',
        cause: `the ${kind} of node-proxy ${when}: the API server will refuse it`,
        evidence: [
          `it ends at ${new Date(expiresAt).toISOString()}, by the clock of the node it is ${new Date(at).toISOString()}`,
        ],
        remedy:
          'give node-proxy a new one; a replaced file is read without a restart. Check the clock of the node, too',
        commands: ['curl -s 127.0.0.1:10249/metrics | grep credential', 'timedatectl'],
      }
    }),
)
