import { expect, test } from 'vitest'
import type { IpAddress } from '../../../lib/ip.ts'
import { FakeClock } from '../../../lib/testing/fake-clock.ts'
import { conformanceCases, runCase, type TestLink } from './conformance.ts'
import { FakeLink, withoutRights } from './fake-link.ts'

const DEVICE = 'eth0'
const HANDLERS = { onConflict: () => {}, onLink: () => {}, onLost: () => {} }

function fakeTestLink(): TestLink {
  const clock = new FakeClock()
  const link = new FakeLink(clock)
  return {
    now: () => clock.now(),
    open: (handlers) => link.open(DEVICE, handlers),
    mac: () => link.mac(DEVICE)!,
    request: async (ip) => link.request(ip),
    heard: (ip) => link.heard.flatMap((said) => (said.ip === ip ? [said.mac] : [])),
    announceAs: (ip, mac) => link.announceAs(ip, mac),
    sendTruncated: () => link.sendTruncated(),
    async change(to) {
      const mac = link.mac(DEVICE) ?? '02:00:00:00:00:01'
      if (to === 'absent') link.set(DEVICE, undefined)
      else if (typeof to === 'object') link.set(DEVICE, { state: 'up', mac: to.mac })
      else link.set(DEVICE, { state: to, mac })
    },
    async until(condition) {
      for (let turn = 0; !condition(); turn += 1) {
        expect(turn).toBeLessThan(1_000)
        await clock.advance(10)
      }
    },
    pass: (ms) => clock.advance(ms),
  }
}

test.each(Object.keys(conformanceCases))('the fake: %s', async (name) => {
  await expect(runCase(name, fakeTestLink())).resolves.toBeUndefined()
})

test('two that announce one address both answer, and each reports the other', async () => {
  const clock = new FakeClock()
  const link = new FakeLink(clock)
  const conflicts: unknown[] = []
  const handlers = { ...HANDLERS, onConflict: (conflict: unknown) => conflicts.push(conflict) }
  const [one, two] = [await link.open('node-1', handlers), await link.open('node-2', handlers)]
  const ip = '192.0.2.50' as IpAddress
  await one.announce(new Map([[ip, Number.POSITIVE_INFINITY]]))
  await two.announce(new Map([[ip, Number.POSITIVE_INFINITY]]))
  await clock.advance(3_000)
  expect(link.request(ip)).toEqual(['02:00:00:00:00:01', '02:00:00:00:00:02'])
  expect(conflicts).toEqual([
    { ip, mac: '02:00:00:00:00:02' },
    { ip, mac: '02:00:00:00:00:01' },
  ])
})

test('without rights nothing is opened', async () => {
  const link = new FakeLink(new FakeClock())
  link.refusal = withoutRights()
  await expect(link.open(DEVICE, HANDLERS)).rejects.toMatchObject({ code: 'NP_KERNEL_NEIGHBOURS' })
})
