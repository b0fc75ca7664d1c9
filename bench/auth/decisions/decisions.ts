import type { Decisions } from '../../report/auth/results.ts'
import type { Repeats } from '../repeats.ts'
import { makeCluster } from './cluster.ts'

const QUESTIONS = 100_000
/** Fewer questions for the scan, which is slower by orders of magnitude. */
const SCANNED = 100

/** Measures how many questions RBAC decides per second, alternating with a scan of all bindings. */
export function measureDecisions({ decisionRounds }: Repeats): Decisions {
  const { roles, bindings, isPermitted, scan } = makeCluster()
  const indexedPerSecond: number[] = []
  const scannedPerSecond: number[] = []
  for (let round = 0; round <= decisionRounds; round++) {
    const [indexed, scanned] = [rate(QUESTIONS, isPermitted), rate(SCANNED, scan)]
    // The first round warms up.
    if (round === 0) continue
    indexedPerSecond.push(indexed)
    scannedPerSecond.push(scanned)
  }
  return { roles, bindings, indexedPerSecond, scannedPerSecond }
}

function rate(count: number, question: (index: number) => boolean): number {
  const began = performance.now()
  let permitted = 0
  for (let index = 0; index < count; index++) if (question(index)) permitted++
  const seconds = (performance.now() - began) / 1_000
  if (permitted === 0 || permitted === count) throw new Error('the questions have one answer')
  return count / seconds
}
