import { expect, test } from 'vitest'
import { stepsIn, TOUR } from './steps.ts'

const titlesIn = (mode: string) => stepsIn(mode, TOUR, true).map(({ title }) => title)

test('a mode has the steps that make sense in it', () => {
  expect(titlesIn('nftables')).toHaveLength(TOUR.length - 2)
  expect(titlesIn('iptables').filter((title) => title.startsWith('An operator'))).toHaveLength(1)
})

test('in userspace mode endpoints see the node, and all answer while node-proxy is stopped', () => {
  const seen = stepsIn('userspace', TOUR, true).flatMap(({ expected }) =>
    expected.kind === 'answered' ? expected.saw('pod-3', (pod) => pod) : [],
  )
  expect(new Set(seen)).toEqual(new Set(['10.244.0.1', '192.0.2.10']))
  const [last, before] = stepsIn('userspace', TOUR, true).toReversed()
  expect([before?.expected.kind, last?.expected.kind]).toEqual(['answered', 'unanswered'])
  expect(
    titlesIn('userspace').filter((title) => titlesIn('nftables').includes(title)),
  ).toHaveLength(TOUR.length - 8)
})

test('a kernel without nftables has no steps about NetworkPolicies', () => {
  const without = stepsIn('ipvs', TOUR, false)
  expect(stepsIn('ipvs', TOUR, true).filter((step) => !without.includes(step))).toEqual([
    expect.objectContaining({ title: expect.stringContaining('A NetworkPolicy lets pod-1') }),
    expect.objectContaining({ title: expect.stringContaining('its packets do not arrive') }),
    expect.objectContaining({ title: expect.stringContaining('Without the label') }),
  ])
})
