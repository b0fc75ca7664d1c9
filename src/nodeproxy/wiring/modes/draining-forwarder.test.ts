import { expect, test } from 'vitest'
import { FakeForwarder } from '../../../modes/userspace/fake-forwarder.ts'
import { DrainingForwarder } from './draining-forwarder.ts'

test('whoever lets it drain spends it', async () => {
  const fake = new FakeForwarder()
  const forwarder = new DrainingForwarder(fake)
  expect(forwarder.isSpent).toBe(false)
  const drained = forwarder.drain(new AbortController().signal)
  expect(forwarder.isSpent).toBe(true)
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
  expect(fake.told).toEqual([[]])
  await forwarder.close()
  await expect(forwarder.apply(new Map())).rejects.toThrow('closed')
})
