import { expect, it } from 'vitest'
import { FakeClock } from '../../lib/fake-clock.ts'
import type { EtcdTls } from '../../storage/etcd/present-tls.ts'
import { followEtcdTls } from './follow-etcd-tls.ts'

const LOOK = 600_000

function named(name: string): EtcdTls {
  return { cert: Buffer.from(name), key: Buffer.from(name) }
}

it('tells each change of the files once, and goes on after what cannot be read', async () => {
  const clock = new FakeClock()
  const told: string[] = []
  const files = [named('a'), named('b'), undefined, named('b'), named('c')]
  const stop = followEtcdTls({
    clock,
    first: named('a'),
    read: async () => files.shift() ?? Promise.reject(new Error('half')),
    onChange: ({ cert }) => void told.push(String(cert)),
    onError: (error) => void told.push(String(error)),
  })
  for (let round = 0; round < 5; round++) await clock.advance(LOOK)
  expect(told).toEqual(['b', 'Error: half', 'c'])
  stop()
  expect(clock.pending()).toEqual([])
})
