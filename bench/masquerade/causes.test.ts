import { expect, test } from 'vitest'
import { SynRecord } from './causes.ts'
import type { Segment } from './segment.ts'

const CLIENT = '10.251.1.1:40000'
const FRONTEND = '10.251.2.1:30080'
const NODE = '10.252.0.1:40000'
const ENDPOINT = '10.128.0.1:8080'

/** A connection of one client, number by number, as the devices show it. */
function connection(record: SynRecord, sequence: number) {
  const syn = (from: string, to: string, stamp: number): Segment => {
    return { from, to, kind: 'syn', sequence, stamp }
  }
  const answer = (kind: 'ack' | 'syn-ack'): Segment => {
    return { from: ENDPOINT, to: NODE, kind, sequence: 7, stamp: 7 }
  }
  return {
    sends: (stamp: number) => record.atSender(syn(CLIENT, FRONTEND, stamp)),
    arrives: (stamp: number) => record.atEndpoints(syn(NODE, ENDPOINT, stamp)),
    isAnswered: (kind: 'ack' | 'syn-ack') => record.atEndpoints(answer(kind)),
  }
}

const NONE = { repeatedSyns: 0, waits: 0 }

test('a connection that is accepted has no cause of anything', () => {
  const record = new SynRecord()
  const one = connection(record, 1)
  one.sends(100)
  one.arrives(100)
  one.isAnswered('syn-ack')
  one.isAnswered('ack')
  expect(record.causes).toEqual({ timeWait: NONE, unanswered: NONE, answered: NONE, lost: NONE })
})

test('a bare acknowledgement of a SYN is the answer of a TIME_WAIT', () => {
  const record = new SynRecord()
  const one = connection(record, 1)
  one.sends(100)
  one.arrives(100)
  one.isAnswered('ack')
  one.sends(112)
  one.arrives(112)
  one.isAnswered('syn-ack')
  expect(record.causes.timeWait).toEqual({ repeatedSyns: 1, waits: 0 })
})

test('a wait has the cause of its longest part', () => {
  const record = new SynRecord()
  const one = connection(record, 1)
  one.sends(4_294_967_290)
  one.arrives(4_294_967_290)
  one.isAnswered('ack')
  one.sends(4)
  one.sends(1_028)
  expect(record.causes).toMatchObject({
    timeWait: { repeatedSyns: 1, waits: 0 },
    lost: { repeatedSyns: 1, waits: 1 },
  })
  const two = connection(record, 2)
  two.sends(5_000)
  two.sends(6_000)
  two.arrives(6_000)
  two.isAnswered('ack')
  two.sends(6_012)
  expect(record.causes).toMatchObject({
    timeWait: { repeatedSyns: 2, waits: 0 },
    lost: { repeatedSyns: 2, waits: 2 },
  })
})

test('what an endpoint did not answer differs from what it answered too late', () => {
  const record = new SynRecord()
  const [one, two] = [connection(record, 1), connection(record, 2)]
  one.sends(100)
  one.arrives(100)
  one.sends(1_100)
  two.sends(3_000)
  two.arrives(3_000)
  two.isAnswered('syn-ack')
  two.sends(3_850)
  expect(record.causes).toMatchObject({
    unanswered: { repeatedSyns: 1, waits: 1 },
    answered: { repeatedSyns: 1, waits: 0 },
  })
})

test('an acknowledgement to the connection before is none of the next SYN', () => {
  const record = new SynRecord()
  const [one, two] = [connection(record, 1), connection(record, 2)]
  one.sends(100)
  one.arrives(100)
  one.isAnswered('syn-ack')
  one.isAnswered('ack')
  two.sends(200)
  two.arrives(200)
  two.isAnswered('syn-ack')
  two.isAnswered('ack')
  two.sends(1_300)
  expect(record.causes.timeWait).toEqual(NONE)
  expect(record.ports).toEqual({ distinct: 1, least: 40_000, most: 40_000 })
})
