import { checkOfEachNode } from '../evidence/node-check.ts'
import type { DaemonFacts, NodeFacts } from '../evidence/node-facts.ts'
import { expiredKinds } from './expired-credential.ts'

/** Milliseconds in which a node-proxy that starts becomes ready, unless the API server refuses it. */
const START_MS = 30_000

/** Codes of reasons that a daemon has only until it has been ready once. */
const STARTING: ReadonlySet<string> = new Set(['not-listed', 'not-connected', 'not-applied'])

/** node-proxy runs and is not ready: the API server does not answer it, or a change does not get into the kernel. */
export const notReady = checkOfEachNode('not-ready', (facts) => {
  const { at, daemon } = facts
  if (daemon === undefined || daemon.isReady) return []
  const [first = 'no reason is known', ...more] = daemon.reasons
  const codes = codesOf(daemon)
  const isUnauthorized = codes[0] === 'unauthorized'
  const isStarting = at - daemon.startedAt < START_MS && !hasBeenReady(codes)
  if (isStarting && !isUnauthorized) return []
  if (isOfExpired(codes[0], facts)) return []
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

function hasBeenReady(codes: readonly string[]): boolean {
  return codes.length > 0 && !codes.some((code) => STARTING.has(code))
}

/** Whether an expired credential is why the API server refuses the daemon: TLS fails for a certificate alone. */
function isOfExpired(code: string | undefined, facts: NodeFacts): boolean {
  const expired = expiredKinds(facts)
  if (code === 'unauthorized') return expired.length > 0
  return code === 'tls' && expired.includes('certificate')
}

/** The codes of the reasons, in their order. The reasons of a daemon that sends no codes are recognized by their words. */
function codesOf({ reasons, reasonCodes }: DaemonFacts): readonly string[] {
  return reasonCodes.length === reasons.length ? reasonCodes : reasons.map(codeOfWords)
}

/** Daemons that send no codes all have these words. Empty: a code that nothing is decided by. */
function codeOfWords(reason: string): string {
  if (reason.includes(': 401 ')) return 'unauthorized'
  if (reason.includes('certificate expired')) return 'tls'
  return reason.endsWith(' yet') ? 'not-listed' : ''
}
