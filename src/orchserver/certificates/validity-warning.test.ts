import { expect, it } from 'vitest'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { warningOfValidity } from '../server.ts'
import { newFolder } from '../testing/new-folder.ts'
import { madeCertificate } from './serving-certificate.ts'

const DAY = 86_400_000

it('warns of a certificate before its time and after, and gives it all the same', async () => {
  const clock = new FakeClock(Date.UTC(2030, 0, 1))
  const names = { dns: ['a'], ips: [] }
  const made = await madeCertificate({ folder: newFolder(), names, clock }).current()
  const recorded: object[] = []
  const log = { warn: (fields: object) => recorded.push(fields) }
  const at = (day: number) => ({ now: () => clock.now() + day * DAY })
  for (const day of [-1, 0, 364, 366]) {
    const source = { current: async () => made }
    expect(await warningOfValidity(source, { clock: at(day), log }).current()).toBe(made)
  }
  const validity = { validFrom: '2029-12-31T23:00:00.000Z', validTo: '2031-01-01T00:00:00.000Z' }
  expect(recorded).toEqual([validity, validity])
})

it('repeats the warning every ten minutes, and at once for another certificate', async () => {
  const clock = new FakeClock(Date.UTC(2030, 0, 1))
  const make = () =>
    madeCertificate({ folder: newFolder(), names: { dns: ['a'], ips: [] }, clock }).current()
  let current = await make()
  const other = await make()
  let [warnings, now] = [0, clock.now() + 400 * DAY]
  const warn = (): void => void warnings++
  const source = warningOfValidity(
    { current: async () => current },
    { clock: { now: () => now }, log: { warn } },
  )
  const counts: number[] = []
  for (const seconds of [0, 10, 589, 1, 10]) {
    now += seconds * 1000
    await source.current()
    counts.push(warnings)
  }
  current = other
  await source.current()
  expect([...counts, warnings]).toEqual([1, 1, 1, 2, 2, 3])
})
