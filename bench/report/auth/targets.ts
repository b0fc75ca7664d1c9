import { count } from '../show.ts'
import { median, ratios } from '../statistics.ts'
import { judgeAll, type Target, type Verdict } from '../verdict.ts'
import { baselineOf, type RequestName, rateRatios } from './ratios.ts'
import type { AuthMeasured, Decisions, Flood, RequestsCell } from './results.ts'

const LEAST_DECISIONS = 200_000
/** The least part of the rate of a server without users: at most 10 % slower. */
const LEAST_RATE = 0.9
const MAX_WAIT = 2

const DECISIONS: readonly Target<Decisions>[] = [
  {
    name: 'RBAC decisions ≥ 200,000/s',
    judge: ({ indexedPerSecond }) => ({
      measured: median(indexedPerSecond),
      limit: LEAST_DECISIONS,
      unit: '/s',
      atLeast: true,
    }),
  },
]

const REQUESTS: readonly Target<RequestsCell>[] = [
  rateTarget('create Service ≥ 0.9 × the rate without users', 'create'),
  rateTarget('get Service ≥ 0.9 × the rate without users', 'get'),
]

const FLOOD: readonly Target<Flood>[] = [
  {
    name: 'p99 of a good client in a flood ≤ 2 × its p99 without',
    judge: ({ quiet, flooded }) => ({
      measured: median(ratios(flooded.p99, quiet.p99)),
      limit: MAX_WAIT,
      unit: '×',
    }),
  },
]

/** The verdicts about everything that was measured. */
export function authVerdicts({
  decisions,
  requests = [],
  flood,
}: Partial<AuthMeasured>): readonly Verdict[] {
  return [
    ...judgeAll(DECISIONS, decisions ? [decisions] : [], decisionsAt),
    ...judgeAll(REQUESTS, requests, ({ subject }) => subject),
    ...judgeAll(FLOOD, flood ? [flood] : [], ({ attackers }) => `${attackers} attackers`),
  ]
}

function decisionsAt({ roles, bindings }: Decisions): string {
  return `${count(roles)} roles, ${count(bindings)} bindings`
}

/** A target for the subjects that authenticate and are not audited. */
function rateTarget(name: string, request: RequestName): Target<RequestsCell> {
  return {
    name,
    judge: (cell, all) => {
      if (cell.subject !== 'token' && cell.subject !== 'certificate') return undefined
      const found = rateRatios(cell, all, { request, against: baselineOf(cell.subject) })
      if (found.length === 0) return undefined
      return { measured: median(found), limit: LEAST_RATE, unit: '×', atLeast: true }
    },
  }
}
