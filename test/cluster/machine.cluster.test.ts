import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cgroupOf, removeCgroups } from '../support/apart/scratch.ts'
import { bootMachine, type Machine } from './lab/machine.ts'
import { openNetwork } from './lab/network.ts'
import { LAN, NODE_NAMES, nodeAddresses } from './lab/plan.ts'
import { clusterFiles } from './lab/surroundings.ts'

const [NAME] = NODE_NAMES
/** What kubelets set, and what a container with a volume of the host's modules makes. */
const SETTING = '/proc/sys/kernel/panic'
const MADE = '/lib/np-cluster-test'

/** A node without kubelet: what it has of its own, and what outlives a reboot. */
const { scratch } = clusterFiles()
const group = `${cgroupOf(scratch)}/${NAME}`
const started = new AsyncDisposableStack()
let machine: Machine

async function boot(): Promise<void> {
  machine = await bootMachine({
    name: NAME,
    disk: join(scratch, 'machine'),
    cgroup: group,
    shared: [scratch],
  })
}

beforeAll(async () => {
  started.defer(() => removeCgroups(cgroupOf(scratch)))
  started.use(await openNetwork())
  await boot()
  started.defer(() => machine.powerOff())
})
afterAll(() => started.disposeAsync())

test('it has a name, an address and processes of its own', async () => {
  expect(await machine.run('hostname')).toBe(NAME)
  expect(await machine.run('ip -brief address show eth0')).toContain(nodeAddresses(NAME).v4)
  expect(await machine.run(`ip route get ${LAN.v6}`)).toContain('dev eth0')
  expect(await machine.run('cat /proc/1/cmdline')).toContain('boot.sh')
})

test('it has control groups of its own, and sees no others', async () => {
  expect(await machine.run('grep memory: /proc/self/cgroup')).toMatch(/:memory:\/$/)
  await machine.run('mkdir /sys/fs/cgroup/memory/pods')
  expect(existsSync(join('/sys/fs/cgroup/memory', group, 'pods'))).toBe(true)
})

test('what it writes does not reach the machine', async () => {
  const before = readFileSync(SETTING, 'utf8')
  await machine.run(`mkdir ${MADE}; echo 7 >${SETTING}`)
  expect(await machine.run(`ls -d ${MADE}; cat ${SETTING}`)).toBe(`${MADE}\n7`)
  expect([existsSync(MADE), readFileSync(SETTING, 'utf8')]).toEqual([false, before])
})

test('a reboot ends its processes, and keeps its disk alone', async () => {
  await machine.run('touch /run/a /var/lib/a /etc/a')
  const program = machine.start(join(scratch, 'sleep.log'), ['sleep', 'infinity'])
  expect(program.isRunning()).toBe(true)
  await machine.powerOff()
  await program.ended
  await boot()
  expect(await machine.run('ls -d /run/a /var/lib/a /etc/a 2>/dev/null || true')).toBe('/var/lib/a')
})
