import { checkOfEachNode } from '../evidence/node-check.ts'

/** Failed insertions in a second from which on they are no chance. */
const MANY_A_SECOND = 10

/** First packets that are lost because two of them claim the same connection: lookups of names by UDP, above all. */
export const lostInsertions = checkOfEachNode('lost-insertions', ({ counters }) => {
  if (counters === undefined || counters.seconds <= 0) return []
  const lost = counters.after.insertFailed - counters.before.insertFailed
  if (lost < MANY_A_SECOND * counters.seconds) return []
  return [
    {
      symptom: 'DNS resolution fails',
      cause: `connection tracking loses first packets: ${lost} insertions failed in ${counters.seconds} s`,
      evidence: [
        `insert_failed grew from ${counters.before.insertFailed} to ${counters.after.insertFailed}`,
        'two packets of one socket at once, as resolvers send A and AAAA, cause it',
      ],
      remedy:
        'let resolvers of Pods use one socket for each question (options single-request-reopen) or TCP, or a cache of names on the node',
      commands: ['conntrack -S', 'watch -n1 conntrack -S'],
    },
  ]
})
