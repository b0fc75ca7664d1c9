import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { FakeForwarder } from '../testing/fake-forwarder.ts'
import { DrainingForwarder } from './userspace-runtime.ts'

test('a forwarder that was drained is spent', async () => {
  const fake = new FakeForwarder()
  const forwarder = new DrainingForwarder(fake)
  expect(forwarder.isDraining).toBe(false)
  const drained = forwarder.drain(new AbortController().signal)
  expect(forwarder.isDraining).toBe(true)
  fake.endConnections()
  await drained
})

test('everything else is that of the forwarder', async () => {
  const fake = new FakeForwarder()
  const forwarder = new DrainingForwarder(fake)
  expect([forwarder.dataPath, forwarder.workers, forwarder.ports]).toEqual([
    fake.dataPath,
    fake.workers,
    fake.ports,
  ])
  fake.setDraining(3)
  expect(forwarder.counts().drainingNow).toBe(3)
  await forwarder.apply(new Map())
  expect(fake.applied).toEqual([[]])
  await forwarder.close()
  await expect(forwarder.apply(new Map())).rejects.toThrow('closed')
})

test('it has drained when its predecessor has as well, which ends then', async () => {
  const fakes = [new FakeForwarder(new Map()), new FakeForwarder(new Map())] as const
  fakes[0].ownPorts.add(1)
  fakes[1].ownPorts.add(2)
  const former = new DrainingForwarder(fakes[0])
  const forwarder = new DrainingForwarder(fakes[1], former)
  expect(forwarder.ownPorts).toEqual(new Set([1, 2]))
  let isDrained = false
  const drained = forwarder.drain(new AbortController().signal).then(() => (isDrained = true))
  fakes[1].endConnections()
  await setImmediate()
  expect(isDrained).toBe(false)
  fakes[0].endConnections()
  await drained
  expect(forwarder.ownPorts).toEqual(new Set([2]))
  await expect(former.apply(new Map())).rejects.toThrow('closed')
  await former.drain(new AbortController().signal)
})

test('a predecessor that still has clients when the time is over keeps them', async () => {
  const former = new DrainingForwarder(new FakeForwarder())
  const fake = new FakeForwarder()
  const stop = new AbortController()
  const drained = new DrainingForwarder(fake, former).drain(stop.signal)
  fake.endConnections()
  stop.abort()
  await drained
  expect((await former.apply(new Map())).size).toBe(0)
})

test('it is closed once, however many callers request it', async () => {
  const fake = new FakeForwarder()
  let closed = 0
  fake.close = async () => void closed++
  const forwarder = new DrainingForwarder(fake)
  await Promise.all([forwarder.close(), forwarder.close()])
  expect(closed).toBe(1)
})

test('one that ends leaves its predecessor as it is', async () => {
  const former = new DrainingForwarder(new FakeForwarder())
  const forwarder = new DrainingForwarder(new FakeForwarder(), former)
  const over = AbortSignal.abort()
  await forwarder.end({ stopAccepting: over, closeAll: over })
  await expect(forwarder.apply(new Map())).rejects.toThrow('closed')
  expect([forwarder.isDraining, former.isDraining]).toEqual([true, false])
  expect((await former.apply(new Map())).size).toBe(0)
})

test('one that was drained and closed before can still be ended', async () => {
  const forwarder = new DrainingForwarder(new FakeForwarder())
  const over = AbortSignal.abort()
  await forwarder.drain(over)
  await forwarder.close()
  const later = new AbortController().signal
  await expect(forwarder.end({ stopAccepting: over, closeAll: later })).resolves.toBeUndefined()
})
