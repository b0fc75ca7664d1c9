import { expect, test } from 'vitest'
import { FakeIptables } from '../../kernel/iptables/testing/fake-iptables.ts'
import { FakeSysctl } from '../../kernel/testing/fake-sysctl.ts'
import { recordingLog } from '../testing/wiring.ts'
import { LoopbackRouting } from './loopback-routing.ts'

const LOCALNET = 'net/ipv4/conf/all/route_localnet'
const GUARD =
  '! -s 127.0.0.0/8 -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP'

/** Every write of the setting is compared with the guards that stand at that moment. */
function rig(value = '0', iptables: readonly FakeIptables[] = [new FakeIptables()]) {
  const sysctl = new FakeSysctl({ [LOCALNET]: value })
  const { log, lines } = recordingLog()
  const routing = new LoopbackRouting({ sysctl, iptables, log })
  const jumps = async (index = 0) =>
    ((await iptables[index]?.listChain(4, 'filter', 'INPUT')) ?? []).map((rule) => rule.slice(3))
  const writes: string[] = []
  const ensure = sysctl.ensure.bind(sysctl)
  sysctl.ensure = (path, to) => {
    const isGuarded = iptables.some((each) => /-A INPUT -j NPGUARD-/.test(each.dump()))
    const wrote = ensure(path, to)
    writes.push(`${to}${isGuarded ? ' guarded' : ''}`)
    return wrote
  }
  return { sysctl, routing, jumps, writes, lines, iptables: iptables[0]! }
}

test('opened behind the guard, closed before the guard goes', async () => {
  const { routing, jumps, writes, iptables } = rig()
  const before = (await iptables.listChain(4, 'filter', 'INPUT'), iptables.dump())
  await routing.open()
  expect([await jumps(), routing.isOpen]).toEqual([['NPGUARD-OPENED'], true])
  expect(await iptables.listChain(4, 'filter', 'NPGUARD-OPENED')).toEqual([GUARD])
  expect(await routing.close()).toBe('closed')
  expect([routing.isOpen, iptables.dump()]).toEqual([false, before])
  expect(writes).toEqual(['1 guarded', '0 guarded'])
})

test('a setting that cannot be written leaves the guard', async () => {
  const { sysctl, routing, jumps } = rig()
  await routing.open()
  sysctl.readOnly.add(LOCALNET)
  await expect(routing.close()).rejects.toThrow(
    expect.objectContaining({ code: 'NP_NODEPROXY_LOOPBACK_OPEN' }),
  )
  expect(await jumps()).toEqual(['NPGUARD-OPENED'])
})

test('a setting that does not take the value leaves the guard', async () => {
  const { sysctl, routing, jumps } = rig()
  await routing.open()
  sysctl.ensure = () => true
  await expect(routing.close()).rejects.toThrow('cannot set it to 0')
  expect(await jumps()).toEqual(['NPGUARD-OPENED'])
})

test('a guard that is refused opens nothing', async () => {
  const { routing, iptables, writes } = rig()
  iptables.refuse(/^-I INPUT/)
  await expect(routing.open()).rejects.toThrow('could not be written')
  expect([routing.isOpen, writes]).toEqual([false, []])
})

test('what another program opened is guarded and stays open', async () => {
  const { routing, jumps, writes } = rig('1')
  await routing.guard()
  await routing.open()
  expect(await jumps()).toEqual(['NPGUARD-FOUND'])
  expect(await routing.close()).toBe('kept')
  expect([await jumps(), writes]).toEqual([['NPGUARD-FOUND'], []])
  await routing.unguard()
  expect([await jumps(), routing.isOpen]).toEqual([[], true])
})

test('what another program opened, closed, and node-proxy opens again is a matter of node-proxy', async () => {
  const { sysctl, routing, jumps } = rig('1')
  await routing.guard()
  sysctl.values.set(LOCALNET, '0')
  await routing.open()
  expect(await jumps()).toEqual(['NPGUARD-OPENED'])
  expect([await routing.close(), routing.isOpen]).toEqual(['closed', false])
})

test.each(['NPROXY-MARTIANS', 'NPVS-MARTIANS', 'NPUS-MARTIANS'])(
  'an earlier version that left %s opened it',
  async (chain) => {
    const { routing, jumps, iptables, writes } = rig('1')
    iptables.alter(4, `*filter\n:${chain} - [0:0]\n-A ${chain} ${GUARD}\nCOMMIT\n`)
    await routing.guard()
    expect(await jumps()).toEqual(['NPGUARD-OPENED'])
    expect([await routing.close(), routing.isOpen]).toEqual(['closed', false])
    expect(writes).toEqual(['0 guarded'])
  },
)

test('what an earlier version opened and cannot be closed gets the guard', async () => {
  const { sysctl, routing, jumps, iptables } = rig('1')
  iptables.alter(4, `*filter\n:NPROXY-MARTIANS - [0:0]\nCOMMIT\n`)
  sysctl.readOnly.add(LOCALNET)
  await expect(routing.close()).rejects.toThrow('cannot set it to 0')
  expect(await jumps()).toEqual(['NPGUARD-OPENED'])
})

test('nothing of ours: nothing is touched', async () => {
  const { routing, iptables, writes } = rig('1')
  expect(await routing.close()).toBe('unguarded')
  expect([iptables.texts, writes, routing.isOpen]).toEqual([[], [], true])
})

test('what another program opens later is guarded and stays open, also beside the guard of a mode', async () => {
  const { sysctl, routing, jumps, iptables, writes } = rig('0')
  sysctl.values.set(LOCALNET, '1')
  iptables.alter(4, `*filter\n:NPROXY-MARTIANS - [0:0]\n-A NPROXY-MARTIANS ${GUARD}\nCOMMIT\n`)
  expect(await routing.close()).toBe('unguarded')
  await routing.guard()
  expect(await routing.close()).toBe('kept')
  expect([await jumps(), writes, routing.isOpen]).toEqual([['NPGUARD-FOUND'], [], true])
})

test('a guard that another program damaged is written again, a whole one is not', async () => {
  const { routing, jumps, iptables } = rig()
  await routing.open()
  const writes = iptables.texts.length
  await routing.guard()
  expect(iptables.texts).toHaveLength(writes)
  for (const damage of ['-D INPUT -j NPGUARD-OPENED', '-F NPGUARD-OPENED']) {
    iptables.alter(4, `*filter\n${damage}\nCOMMIT\n`)
    await routing.guard()
    expect(await jumps()).toEqual(['NPGUARD-OPENED'])
    expect(await iptables.listChain(4, 'filter', 'NPGUARD-OPENED')).toEqual([GUARD])
  }
})

test('a guard of another iptables variant is found, and goes too', async () => {
  const legacy = new FakeIptables({ backend: 'legacy' })
  await rig('0', [legacy]).routing.open()
  const { routing, jumps } = rig('1', [new FakeIptables(), legacy])
  expect([await routing.close(), routing.isOpen]).toEqual(['closed', false])
  expect([await jumps(0), await jumps(1)]).toEqual([[], []])
})
