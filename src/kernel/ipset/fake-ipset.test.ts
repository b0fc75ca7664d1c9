import { expect, test } from 'vitest'
import { FakeIptables } from '../iptables/fake-iptables.ts'
import { FakeIpset } from './fake-ipset.ts'

const CREATE = 'create NP-A hash:ip family inet timeout 30 maxelem 2'

test('creates, fills, lists and destroys', async () => {
  const ipset = new FakeIpset()
  const commands = [CREATE, 'add NP-A 10.0.0.1', 'add NP-A 10.0.0.2 timeout 5', 'del NP-A 10.0.0.1']
  expect(await ipset.restore([...commands, 'create OTHER hash:ip'])).toEqual([])
  expect(await ipset.names('NP-')).toEqual(['NP-A'])
  expect((await ipset.list('')).get('NP-A')).toMatchObject({ type: 'hash:ip', entries: 1 })
  expect(await ipset.members('NP-A')).toEqual(['10.0.0.2 timeout 5'])
  expect(await ipset.restore(['flush NP-A', 'destroy NP-A'])).toEqual([])
  expect(await ipset.members('NP-A')).toBeUndefined()
})

test.each([
  ['a second create', [CREATE]],
  ['another set of the same name', ['create NP-A hash:ip family inet6 -exist']],
  ['a type that does not exist', ['create NP-B hush']],
  ['a long name', [`create ${'N'.repeat(32)} hash:ip`]],
  ['a set that does not exist', ['add NP-B 10.0.0.1']],
  ['a member twice', ['add NP-A 10.0.0.1']],
  ['a member that is not there', ['del NP-A 10.0.0.9']],
  ['more than fits', ['add NP-A 10.0.0.2', 'add NP-A 10.0.0.3']],
  ['an unknown command', ['frob NP-A']],
])('refuses %s and goes on', async (_, commands) => {
  const ipset = new FakeIpset()
  await ipset.restore([CREATE, 'add NP-A 10.0.0.1'])
  const refusals = await ipset.restore([...commands, 'create NP-Z hash:ip'])
  expect(refusals.map((refusal) => refusal.index)).toEqual([commands.length - 1])
  expect(ipset.has('NP-Z')).toBe(true)
})

test('-exist makes creating, adding and removing again harmless', async () => {
  const ipset = new FakeIpset()
  const again = [`${CREATE} -exist`, 'add NP-A 10.0.0.1 -exist', 'del NP-A 10.0.0.9 -exist']
  expect(await ipset.restore([...again, ...again])).toEqual([])
})

test('a set that a rule names cannot be destroyed', async () => {
  const ipset = new FakeIpset()
  const iptables = new FakeIptables({ sets: ipset })
  ipset.isUsed = (name) => iptables.refersTo(name)
  const rule = '-A NP-C -m set --match-set NP-A src -j RETURN'
  const missing = await iptables.restore(4, `*nat\n:NP-C -\n${rule}\nCOMMIT\n`)
  expect(missing).toMatchObject({ ok: false, line: 3 })
  await ipset.restore([CREATE])
  expect(await iptables.restore(4, `*nat\n:NP-C -\n${rule}\nCOMMIT\n`)).toMatchObject({ ok: true })
  expect(await ipset.restore(['destroy NP-A'])).toHaveLength(1)
  await iptables.restore(4, '*nat\n-F NP-C\nCOMMIT\n')
  expect(await ipset.restore(['destroy NP-A'])).toEqual([])
})

test('a pattern may be refused for a while', async () => {
  const ipset = new FakeIpset()
  const heal = ipset.refuse(/NP-A/)
  expect(await ipset.restore([CREATE])).toHaveLength(1)
  heal()
  expect(await ipset.restore([CREATE])).toEqual([])
})
