import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import { createForwarder, type ForwardedAnswer, type ForwardLimits } from '../forwarder.ts'
import type { ForwardQuestion } from '../message/query.ts'
import type { Upstream } from '../upstream/upstream.ts'

/** A question for the A records of a name. */
export function question(name: string, rest: Partial<ForwardQuestion> = {}): ForwardQuestion {
  return { name, type: 1, klass: 1, dnssecOk: false, checkingDisabled: false, ...rest }
}

/** A forwarder with a clock that the test advances, and a record of what it reports. */
export function openForwarder(upstreams: readonly Upstream[], limits: Partial<ForwardLimits> = {}) {
  const clock = new FakeClock()
  const results: string[] = []
  const attempts: string[] = []
  const discarded: string[] = []
  const changes: string[] = []
  const counts = { evicted: 0 }
  const forwarder = createForwarder({
    upstreams,
    limits,
    clock,
    observer: {
      queried: (result) => void results.push(result),
      evicted: () => void counts.evicted++,
      attempted: ({ result }) => void attempts.push(result),
      discarded: (_, reason) => void discarded.push(reason),
      upstreamChanged: ({ isAway }) => void changes.push(isAway ? 'away' : 'back'),
    },
  })
  return {
    forwarder,
    clock,
    results,
    attempts,
    discarded,
    changes,
    counts,
    query: (name: string, rest?: Partial<ForwardQuestion>) => forwarder.query(question(name, rest)),
    [Symbol.asyncDispose]: () => forwarder.close(),
  }
}

/** The data and TTLs of an answer's records, or its fault; short to compare. */
export function summary(answer: ForwardedAnswer): readonly unknown[] {
  if (answer.fault !== undefined) return [answer.fault]
  const records = [...answer.answers, ...answer.authorities]
  const ofRecords = records.map((record) =>
    record.type === 'OPT' ? 'OPT' : [record.type, record.data, record.ttl],
  )
  return [answer.source, answer.rcode, ...ofRecords.map((each) => (each as unknown[]).slice(0, 3))]
}
