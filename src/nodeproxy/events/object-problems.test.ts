import { expect, test } from 'vitest'
import type { WatchProblem } from '../../watch/feed.ts'
import { recordingEvents, recordingLog } from '../testing/wiring.ts'
import { ObjectProblems } from './object-problems.ts'

function rig() {
  const { log, lines } = recordingLog()
  const { events, sent } = recordingEvents()
  return { problems: new ObjectProblems(log, events), lines, sent }
}

function problem(overrides: Partial<WatchProblem> = {}): WatchProblem {
  const fault = { field: 'spec.clusterIP', value: '"010.0.0.1"', message: 'has leading zeros' }
  return {
    resource: 'services',
    key: 'shop/cart',
    kind: 'invalid',
    problems: [fault],
    ...overrides,
  }
}

test('a problem of a Service is logged and sent as an Event', () => {
  const { problems, lines, sent } = rig()
  problems.report(problem())
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('shop/cart')
  expect(sent).toEqual([
    'InvalidObject shop/cart: Not programmed on this node: spec.clusterIP "010.0.0.1": has leading zeros',
  ])
})

test('an address with leading zeros has an Event of its own, unless the object has another problem', () => {
  const { problems, sent } = rig()
  const message = 'must not have leading zeros: write 10.0.0.1; its numbers are read as decimal'
  const legacy = {
    field: 'spec.clusterIP',
    value: '"010.0.0.1"',
    message,
    fault: { legacyAddress: '10.0.0.1' },
  }
  const other = { field: 'spec.type', value: '"x"', message: 'wrong' }
  problems.report(problem({ kind: 'partial', problems: [legacy] }))
  problems.report(problem({ kind: 'partial', problems: [legacy, other] }))
  expect(sent).toEqual([
    `AddressWithLeadingZeros shop/cart: Served, but other programs may read the address as octal: spec.clusterIP "010.0.0.1": ${message}`,
    'InvalidObject shop/cart: Not programmed on this node: spec.type "x": wrong',
  ])
})

test('the same problem at every relist is reported once, and again after another problem', () => {
  const { problems, lines } = rig()
  for (let relist = 0; relist < 5; relist++) problems.report(problem())
  expect(lines).toHaveLength(1)
  problems.report(problem({ kind: 'partial' }))
  problems.report(problem())
  expect(lines).toHaveLength(3)
})

test('problems of Endpoints, and of an object without a name, are logged without an Event', () => {
  const { problems, lines, sent } = rig()
  problems.report(problem({ resource: 'endpoints' }))
  problems.report(problem({ key: '', kind: 'lost' }))
  expect([lines.length, sent]).toEqual([2, []])
})

test('the log has the first five problems of an object', () => {
  const { problems, lines } = rig()
  const faults = Array.from({ length: 50 }, (_, n) => ({
    field: `f${n}`,
    value: '1',
    message: 'x',
  }))
  problems.report(problem({ problems: faults }))
  expect(lines[0]).toContain('f4 1')
  expect(lines[0]).not.toContain('f5 1')
})

test('of 20,001 reported objects the one reported longest ago is forgotten', () => {
  const { problems, lines } = rig()
  for (let n = 0; n <= 20_000; n++) problems.report(problem({ key: `ns/s${n}` }))
  problems.report(problem({ key: 'ns/s20000' }))
  expect(lines).toHaveLength(20_001)
  problems.report(problem({ key: 'ns/s0' }))
  expect(lines).toHaveLength(20_002)
})
