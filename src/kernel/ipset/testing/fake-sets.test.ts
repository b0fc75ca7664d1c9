import { expect, test } from 'vitest'
import { STEPS } from '../../../../test/kernel/interfaces/ipset-steps.ts'
import { WALKED, walk } from '../../../../test/kernel/interfaces/ipset-walk.ts'
import { FakeIptables } from '../../iptables/testing/fake-iptables.ts'
import type { SetCommand } from '../sets.ts'
import { FakeSets } from './fake-sets.ts'

const create: SetCommand = {
  do: 'create',
  name: 'NP-A',
  type: { type: 'hash:ip', family: 4, maxElements: 2 },
}
const destroy: SetCommand = { do: 'destroy', name: 'NP-A' }

test('the fake answers as the kernel does', async () => {
  const walked = await walk(new FakeSets())
  for (const [at, { what, refused }] of STEPS.entries()) {
    expect([what, walked.refused[at]]).toEqual([what, refused])
  }
  expect(walked).toEqual(WALKED)
})

test('a set that a rule refers to cannot be destroyed', async () => {
  const sets = new FakeSets()
  const iptables = new FakeIptables({ sets })
  sets.isUsed = (name) => iptables.refersTo(name)
  const rule = '-A NP-C -m set --match-set NP-A src -j RETURN'
  const missing = await iptables.restore(4, `*nat\n:NP-C -\n${rule}\nCOMMIT\n`)
  expect(missing).toMatchObject({ ok: false, line: 3 })
  await sets.run([create])
  expect(await iptables.restore(4, `*nat\n:NP-C -\n${rule}\nCOMMIT\n`)).toMatchObject({ ok: true })
  expect(await sets.run([destroy])).toMatchObject([{ errno: 4100 }])
  expect((await sets.headers('')).get('NP-A')).toMatchObject({ references: 1 })
  await iptables.restore(4, '*nat\n-F NP-C\nCOMMIT\n')
  expect(await sets.run([destroy])).toEqual([])
  expect(sets.has('NP-A')).toBe(false)
})

test('commands may be refused for a while', async () => {
  const sets = new FakeSets()
  const heal = sets.refuse((command) => command.do === 'create')
  expect(await sets.run([create])).toMatchObject([{ index: 0, errno: 12 }])
  heal()
  expect(await sets.run([create])).toEqual([])
})

test('the fake has a protocol version', async () => {
  const sets = new FakeSets()
  expect(await sets.protocolVersion()).toEqual({ newest: 7, oldest: 6 })
  sets.close()
})
