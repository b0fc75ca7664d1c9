import { checkOfEachNode } from '../evidence/node-check.ts'
import { hasExpired } from './expired-credential.ts'

/** Milliseconds in which a node-proxy that starts becomes ready, unless the API server refuses it. */
const START_MS = 30_000

/** node-proxy runs and is not ready: the API server does not answer it, or a change does not get into the kernel. */
export const notReady = checkOfEachNode('not-ready', (facts) => {
  const { at, daemon } = facts
  if (daemon === undefined || daemon.isReady) return []
  const [first = 'no reason is known', ...more] = daemon.reasons
  const isUnauthorized = first.includes(': 401 ')
  const isStarting = at - daemon.startedAt < START_MS && !hasBeenReady(daemon.reasons)
  if (isStarting && !isUnauthorized) return []
  if (hasExpired(facts) && (isUnauthorized || first.includes('certificate expired'))) return []
  return [
    {
      symptom: 'Changes do not arrive',
      cause: `node-proxy is not ready: ${first}`,
      evidence: [
        `it has run for ${Math.round((at - daemon.startedAt) / 1_000)} s; the kernel keeps the rules that it has`,
        ...more,
      ],
      remedy: isUnauthorized
        ? 'see why the API server rejects the token: it may be for another audience, or of an account that is gone'
        : 'the reason names what to repair; node-proxy catches up by itself',
      commands: [
        'node-proxy status',
        'curl -s 127.0.0.1:10249/readyz?verbose',
        ...(isUnauthorized ? ['orchctl doctor --token-file FILE'] : []),
      ],
    },
  ]
})

/** Whether node-proxy was ready before: the reasons of a start say that something is not there yet. */
function hasBeenReady(reasons: readonly string[]): boolean {
  return reasons.length > 0 && !reasons.some((reason) => reason.endsWith(' yet'))
}
