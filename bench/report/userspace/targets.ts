import { median } from '../statistics.ts'
import type { Judged, Target } from '../verdict.ts'
import { type Compared, FOR_MESSAGES, FOR_STREAMS, medianRatio } from './ratio.ts'
import type { SubjectName, UserspaceCell } from './results.ts'

type Judge = Target<UserspaceCell>['judge']

const KIBIBYTES_EACH = 12

const oneStream: Compared = {
  pick: ({ stream }) => stream?.gigabytesPerSecond,
  against: FOR_STREAMS,
}
const manyStreams: Compared = {
  pick: ({ streams }) => streams?.gigabytesPerSecond,
  against: FOR_STREAMS,
}
const connections: Compared = {
  pick: (measured) => measured.connections?.perSecond,
  against: FOR_MESSAGES,
}
const firstByte: Compared = { pick: (measured) => measured.firstByte?.p50, against: FOR_MESSAGES }
const roundTrip: Compared = { pick: (measured) => measured.roundTrip?.p50, against: FOR_MESSAGES }

export const USERSPACE_TARGETS: readonly Target<UserspaceCell>[] = [
  {
    name: 'throughput, 1 connection ≥ 1.8 × HAProxy’s with splice',
    judge: only('native', atLeast(1.8, oneStream)),
  },
  {
    name: 'throughput, 64 connections ≥ 1.8 × HAProxy’s with splice',
    judge: only('native', atLeast(1.8, manyStreams)),
  },
  {
    name: 'throughput, 1 connection ≥ HAProxy’s with splice',
    judge: only('javascript', atLeast(1, oneStream)),
  },
  {
    name: 'throughput, 64 connections ≥ HAProxy’s with splice',
    judge: only('javascript', atLeast(1, manyStreams)),
  },
  { name: 'new connections per second ≥ 0.8 × HAProxy’s', judge: ours(atLeast(0.8, connections)) },
  { name: 'first byte, p50 ≤ HAProxy’s', judge: ours(atMost(1, firstByte)) },
  { name: 'round trip, p50 ≤ HAProxy’s', judge: ours(atMost(1, roundTrip)) },
  {
    name: 'memory of an idle connection ≤ 12 KiB',
    judge: only('native', ({ measured: { idle } }) => {
      if (idle === undefined) return undefined
      return { measured: median(idle.kibibytesEach), limit: KIBIBYTES_EACH, unit: 'KiB' }
    }),
  },
]

function ours(judge: Judge): Judge {
  return (cell, all) => only('native', judge)(cell, all) ?? only('javascript', judge)(cell, all)
}

function only(name: SubjectName, judge: Judge): Judge {
  return (cell, all) => (cell.subject === name ? judge(cell, all) : undefined)
}

function atLeast(limit: number, compared: Compared): Judge {
  return (cell, all) => {
    const judged = ratioTo(limit, medianRatio(cell, all, compared))
    return judged && { ...judged, atLeast: true }
  }
}

function atMost(limit: number, compared: Compared): Judge {
  return (cell, all) => ratioTo(limit, medianRatio(cell, all, compared))
}

function ratioTo(limit: number, measured: number | undefined): Judged | undefined {
  return measured === undefined ? undefined : { measured, limit, unit: '×' }
}
