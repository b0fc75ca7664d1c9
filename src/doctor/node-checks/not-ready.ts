import { checkOfEachNode } from '../evidence/node-check.ts'

/** Milliseconds in which a node-proxy becomes ready. */
const START_MS = 30_000

/** node-proxy runs and is not ready: the API server does not answer it, or a change does not get into the kernel. */
export const notReady = checkOfEachNode('not-ready', ({ at, daemon }) => {
  if (daemon === undefined || daemon.isReady || at - daemon.startedAt < START_MS) return []
  const [first = 'no reason is known', ...more] = daemon.reasons
  return [
    {
      symptom: 'Changes do not arrive',
      cause: `node-proxy is not ready: ${first}`,
      evidence: [
        `it has run for ${Math.round((at - daemon.startedAt) / 1_000)} s; the kernel keeps the rules that it has`,
        ...more,
      ],
      remedy: 'the reason names what to repair; node-proxy catches up by itself',
      commands: ['node-proxy status', 'curl -s 127.0.0.1:10249/readyz?verbose'],
    },
  ]
})
