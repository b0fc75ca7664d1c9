import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { FakeIptables } from './fake-iptables.ts'

const sets = new Set(['NP-HAIRPIN'])
const nat = (...lines: string[]) => `*nat\n${lines.join('\n')}\nCOMMIT\n`

test('declares, fills, changes and removes chains', async () => {
  const fake = new FakeIptables({ sets })
  const first = nat(
    ':NP-SERVICES - [0:0]',
    ':NP-A - [0:0]',
    '-A PREROUTING -m comment --comment "node proxy; services" -j NP-SERVICES',
    '-A NP-SERVICES -d 10.96.0.10/32 -p tcp -m tcp --dport 80 -j NP-A',
    '-A NP-A -m set --match-set NP-HAIRPIN src,dst -j MARK --set-xmark 0x4000/0x4000',
    '-A NP-A -p tcp -j DNAT --to-destination 10.1.0.4:8080',
  )
  expect(await fake.restore(4, first)).toEqual({ ok: true, commits: 1, pid: 1 })
  const second = nat(
    ':NP-A - [0:0]',
    '-A NP-A -p tcp -j DNAT --to-destination 10.1.0.5:8080',
    '-I NP-A 1 -s 10.0.0.0/8 -j RETURN',
    '-R NP-A 1 -s 10.1.0.0/16 -j RETURN',
    '-I NP-A -j ACCEPT',
    '-D NP-A -j ACCEPT',
  )
  expect(await fake.restore(4, second)).toMatchObject({ ok: true })
  expect(await fake.listChain(4, 'nat', 'NP-A')).toEqual([
    '-s 10.1.0.0/16 -j RETURN',
    '-p tcp -j DNAT --to-destination 10.1.0.5:8080',
  ])
  expect(fake.dump()).toContain('-A PREROUTING -m comment --comment "node proxy; services" -j NP-S')
  const last = nat('-D PREROUTING 1', '-F NP-SERVICES', '-F NP-A', '-X NP-A', '-X NP-SERVICES')
  expect(await fake.restore(4, last)).toMatchObject({ ok: true })
  const { chains } = await fake.save(4, 'nat')
  expect([...chains.keys()]).toEqual(['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING'])
  expect(fake.transactions).toBe(3)
})

test.each([
  ['a jump to a missing chain', ['-A NP-A -j NP-NONE', '-A NP-A -j RETURN'], 5],
  ['a jump to a built-in chain', ['-A NP-A -j OUTPUT'], 3],
  ['a missing set', ['-A NP-A -m set --match-set NP-NONE src -j RETURN'], 3],
  ['removal of a chain that is not empty', ['-A NP-A -j RETURN', '-X NP-A'], 4],
  ['removal of a referenced chain', ['-A OUTPUT -j NP-A', '-X NP-A'], 4],
  ['removal of a missing chain', ['-X NP-NONE'], 3],
  ['removal of a built-in chain', ['-X OUTPUT'], 3],
  ['an unknown table', ['COMMIT', '*nope'], 4],
  ['a long chain name', [`:${'N'.repeat(29)} - [0:0]`], 3],
  ['a second creation', ['-N NP-A'], 3],
  ['an unknown option', ['-A NP-A --nonsense 1'], 3],
  ['a port without a protocol', ['-A NP-A --dport 80 -j RETURN'], 3],
  ['an address with a leading zero', ['-A NP-A -d 010.0.0.1 -j RETURN'], 3],
  ['an address of the other family', ['-A NP-A -d fd00::1 -j RETURN'], 3],
  ['a bad target address', ['-A NP-A -j DNAT --to-destination 999.1.1.1:80'], 3],
  ['a missing rule', ['-D NP-A -j RETURN'], 3],
  ['a missing number', ['-D NP-A 1'], 3],
  ['a rule in a missing chain', ['-A NP-NONE -j RETURN'], 3],
  ['a policy of a chain of ours', ['-P NP-A DROP'], 3],
  ['a command that does not exist', ['-Q NP-A'], 3],
  ['free text', ['hello'], 3],
  ['an open quote', ['-A NP-A -m comment --comment "x -j RETURN'], 3],
])('refuses %s, names the line and applies nothing of that COMMIT', async (_, lines, line) => {
  const fake = new FakeIptables({ sets })
  const before = ['COMMIT', '*nope'].includes(lines[0] ?? '') ? 1 : 0
  const result = await fake.restore(4, nat(':NP-A - [0:0]', ...lines))
  expect(result).toMatchObject({ ok: false, kind: 'refused', line, commits: before })
  expect((await fake.listChain(4, 'nat', 'NP-A')) !== undefined).toBe(before === 1)
})

test('the legacy variant reports the line of a jump to a missing chain', async () => {
  const fake = new FakeIptables({ backend: 'legacy' })
  const text = nat(':NP-A - [0:0]', '-A NP-A -j NP-NONE', '-A NP-A -j RETURN')
  const message = "Chain 'NP-NONE' does not exist"
  expect(await fake.restore(4, text)).toMatchObject({ ok: false, line: 3, message })
})

test('a COMMIT before the refused one stays, and a missing one is refused', async () => {
  const fake = new FakeIptables()
  const text = `${nat(':NP-A - [0:0]')}${nat(':NP-B - [0:0]', '-X NP-C')}${nat(':NP-D - [0:0]')}`
  expect(await fake.restore(4, text)).toMatchObject({ ok: false, line: 6, commits: 1 })
  expect(fake.dump()).toContain(':NP-A -')
  expect(fake.dump()).not.toMatch(/NP-[BD]/)
  expect(await fake.restore(4, '*nat\n:NP-E - [0:0]\n')).toMatchObject({ ok: false, line: 3 })
})

test('failures are injected: as a refusal, silently applied, or by pattern', async () => {
  const fake = new FakeIptables()
  fake.failNext({ kind: 'locked' })
  expect(await fake.restore(4, nat(':NP-A -'))).toMatchObject({ ok: false, kind: 'locked' })
  expect(fake.dump()).not.toContain('NP-A')
  fake.failNext({ kind: 'timeout', applied: true })
  expect(await fake.restore(4, nat(':NP-A -'))).toMatchObject({
    kind: 'timeout',
    commits: undefined,
  })
  expect(fake.dump()).toContain('NP-A')
  const heal = fake.refuse(/NP-BAD/)
  expect(await fake.restore(4, nat(':NP-OK -', ':NP-BAD -'))).toMatchObject({ ok: false, line: 3 })
  heal()
  expect(await fake.restore(4, nat(':NP-OK -', ':NP-BAD -'))).toMatchObject({ ok: true })
})

test('another process may alter the rules without being counted', async () => {
  const fake = new FakeIptables()
  await fake.restore(4, nat(':NP-A -', '-A OUTPUT -j NP-A'))
  fake.alter(4, nat('-F'))
  expect(await fake.listChain(4, 'nat', 'OUTPUT')).toEqual([])
  expect(fake.transactions).toBe(1)
})

test('families and tables are independent of each other', async () => {
  const fake = new FakeIptables()
  await fake.restore(6, '*filter\n:NP-A - [0:0]\n-A NP-A -s fd00::/64 -j DROP\nCOMMIT\n')
  expect(await fake.listChain(6, 'filter', 'NP-A')).toEqual(['-s fd00::/64 -j DROP'])
  expect(await fake.listChain(4, 'filter', 'NP-A')).toBeUndefined()
  expect(await fake.listChain(6, 'nat', 'NP-A')).toBeUndefined()
})

test('after any history a chain can be removed exactly when no rule refers to it', async () => {
  const chain = fc.constantFrom('A', 'B', 'C')
  const step = fc.oneof(
    fc.tuple(chain, chain).map(([from, to]) => `-A NP-${from} -j NP-${to}`),
    chain.map((name) => `-F NP-${name}`),
    chain.map((name) => `-D NP-${name} 1`),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), chain, async (steps, victim) => {
      const fake = new FakeIptables()
      await fake.restore(4, nat(':NP-A -', ':NP-B -', ':NP-C -'))
      for (const line of steps) await fake.restore(4, nat(line))
      const { chains } = await fake.save(4, 'nat')
      const own = chains.get(`NP-${victim}`)?.rules ?? []
      const all = [...chains.values()].flatMap((saved) => saved.rules)
      const free = own.length === 0 && !all.includes(`-j NP-${victim}`)
      expect((await fake.restore(4, nat(`-X NP-${victim}`))).ok).toBe(free)
    }),
  )
})
