import { describe, expect, onTestFinished } from 'vitest'
import type { DataPath, OpenForwarder } from '../forwarder.ts'
import { registerBackendTests } from './conformance-backends.ts'
import { registerChangeTests } from './conformance-changes.ts'
import { registerClientTests } from './conformance-clients.ts'
import { registerDatagramTests } from './conformance-datagrams.ts'
import { LIMITS, type OpenTestForwarder } from './conformance-fixtures.ts'
import { registerStreamTests } from './conformance-streams.ts'
import { registerTrafficTests } from './conformance-traffic.ts'

/**
 * Registers what every data path has to do, on sockets of loopback addresses at which it listens
 * itself. It needs no rights.
 */
export function describeDataPath(dataPath: DataPath, openForwarder: OpenForwarder): void {
  const open: OpenTestForwarder = async (limits, workers = 1) => {
    const lost: Error[] = []
    const forwarder = await openForwarder({
      dataPath,
      workers,
      listening: 'bound',
      families: [4, 6],
      mark: 0,
      limits: { ...LIMITS, ...limits },
      onLost: (error) => lost.push(error),
    })
    onTestFinished(async () => {
      await forwarder.close()
      expect(lost).toEqual([])
    })
    return forwarder
  }
  describe('streams', () => {
    registerStreamTests(open)
  })
  describe('backends', () => {
    registerBackendTests(open)
  })
  describe('clients', () => {
    registerClientTests(open)
  })
  describe('changes', () => {
    registerChangeTests(open)
  })
  describe('datagrams', () => {
    registerDatagramTests(open)
  })
  describe('traffic', () => {
    registerTrafficTests(open)
  })
}
