import { beforeAll, expect, test } from 'vitest'
import { deploy } from '../../support/flows/deploy.ts'
import { proxyMode } from '../../support/lab/daemon-config.ts'
import type { Attempt } from '../../support/lab/lab.ts'
import { type ModeName, netState, oursIn } from '../../support/lab/net-state.ts'
import { slice } from '../../support/lab/objects.ts'
import { reconfigure } from '../../support/lab/reconfigure.ts'
import { type Traffic, undisturbed } from '../../support/lab/undisturbed.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** A mode whose connections the kernel forwards: the one under test, or iptables. */
const KERNEL = proxyMode() === 'nftables' ? 'nftables' : 'iptables'

/**
 * Userspace mode takes the node over from a mode of the kernel and gives it back: new connections
 * meet one of the two at every moment, those that exist go on until they end, and then nothing of
 * the old one is left. Whose a connection is, its backend sees: one of userspace mode comes
 * from the node.
 */
const lab = useLab({ config: { mode: KERNEL } })

const POD = { protocol: 'TCP', source: '10.0.0.2', destination: '172.30.51.1', port: 80 } as const
const QUERY = { ...POD, protocol: 'UDP', port: 53 } as const
const NODE_PORT: Traffic = {
  place: 'outside',
  source: '2600:5200::1',
  destination: '2001:db8::1',
  port: 30080,
  held: 10,
}

beforeAll(async () => {
  const [ip, far] = ['fd00:10:180::1', 'fd00:10:180:2::2']
  const ports = [
    { name: 'http', protocol: 'TCP', port: 80 },
    { name: 'query', protocol: 'UDP', port: 53 },
  ] as const
  await lab().serve({ ip, local: true, ports })
  await lab().serve({ ip: far, local: false, ports })
  await lab().api.apply(
    slice('ns/moved', [{ ip }, { ip: far, node: 'far' }], { ports, suffix: '6' }),
  )
  await deploy(lab(), {
    key: 'ns/moved',
    clusterIP: POD.destination,
    endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.2', node: 'far' }],
    ports: ports.map((port) => (port.name === 'http' ? { ...port, nodePort: 30080 } : port)),
    spec: {
      type: 'NodePort',
      clusterIPs: [POD.destination, 'fd00:172:30::51'],
      ipFamilies: ['IPv4', 'IPv6'],
    },
  })
})

const traces = async (mode: ModeName) => oursIn(await netState(lab().node), mode)

/** A flow that conntrack knows stays with the mode that it began in, so none comes from a port twice. */
const nextSource = { port: 20_000 }

/** Policy rules that lead packets to the forwarder, and the routes that they name. */
async function diversions(): Promise<readonly string[]> {
  const state = await netState(lab().node)
  return state.filter((line) => /^(route|rule .* fwmark)/.test(line))
}

/** Which modes serve new connections, of so many. */
async function modesOf(attempts: number, request: Attempt = POD): Promise<readonly string[]> {
  const { agent } = await lab().site('pod', POD.source)
  const outcomes = await agent.call('connect', {
    protocol: 'TCP',
    ...request,
    attempts,
    parallel: 2,
  })
  const modes = outcomes.map((outcome) => {
    if (outcome.kind !== 'answered') return outcome.kind
    return outcome.peer.startsWith(`${POD.source}:`) ? KERNEL : 'userspace'
  })
  return [...new Set(modes)]
}

async function expectServing(mode: ModeName): Promise<void> {
  await expect.poll(() => modesOf(1)).toEqual([mode])
  expect(await modesOf(20)).toEqual([mode])
  expect(await modesOf(1, { ...QUERY, sourcePort: nextSource.port++ })).toEqual([mode])
}

async function expectAlone(mode: ModeName): Promise<void> {
  const other = mode === 'userspace' ? KERNEL : 'userspace'
  await expect.poll(() => traces(other)).toEqual([])
  expect(await traces(mode)).not.toEqual([])
  expect((await diversions()).length > 0).toBe(mode === 'userspace')
  await expectServing(mode)
}

/** A busy machine may leave a first connection unanswered for a second, which says nothing of the mode. */
async function modeNow(): Promise<string> {
  let mode = ''
  const isKnown = async () => {
    mode = (await modesOf(1))[0] ?? ''
    return mode === KERNEL || mode === 'userspace'
  }
  await expect.poll(isKnown).toBe(true)
  return mode
}

/** Each test begins in the mode that it names, whatever became of the one before. */
async function beginIn(mode: ModeName): Promise<void> {
  if (!lab().daemon.isRunning()) {
    await lab().daemon.start({ config: { mode } })
    await lab().daemon.synced()
  } else if ((await modeNow()) !== mode) await reconfigure(lab(), { mode })
  await expectAlone(mode)
}

/** Both ways in, under load and with connections held, while `change` happens. */
async function whileServing(change: () => Promise<void>): Promise<void> {
  await undisturbed(lab(), { ...POD, held: 10 }, async () => {
    await undisturbed(lab(), NODE_PORT, change)
  })
}

/** Each question over UDP comes from another port; a lost datagram is not sent again. */
async function whileAnswering(change: () => Promise<void>): Promise<void> {
  const { agent } = await lab().site('pod', POD.source)
  const load = await agent.call('loadStart', { ...QUERY, intervalMs: 10, timeoutMs: 5_000 })
  await change()
  const report = await agent.call('loadStop', { ...load, atLeast: 20 })
  expect([report.failed, report.failures]).toEqual([0, []])
}

test(`${KERNEL} to userspace by configuration, under traffic`, async () => {
  await beginIn(KERNEL)
  await whileServing(async () => {
    await whileAnswering(() => reconfigure(lab(), { mode: 'userspace' }))
    await expectServing('userspace')
    await expectAlone('userspace')
  })
})

test(`userspace to ${KERNEL} by configuration: connections stay until they end`, async () => {
  await beginIn('userspace')
  await whileServing(async () => {
    await reconfigure(lab(), { mode: KERNEL })
    await expectServing(KERNEL)
    expect(await traces('userspace')).not.toEqual([])
  })
  await expectAlone(KERNEL)
})

test('there and back again, before the connections of the first mode have ended', async () => {
  await beginIn('userspace')
  await whileServing(async () => {
    for (const mode of [KERNEL, 'userspace', KERNEL] as const) {
      await reconfigure(lab(), { mode })
      await expectServing(mode)
    }
    const members = async () =>
      (await traces('userspace')).filter((line) => line.startsWith('member'))
    await expect.poll(members).toEqual([])
    for (let look = 0; look < 20; look++) expect(await diversions()).not.toEqual([])
  })
  await expectAlone(KERNEL)
})

test(`${KERNEL} to userspace by restart, under traffic`, async () => {
  await beginIn(KERNEL)
  await whileServing(() =>
    whileAnswering(async () => {
      await lab().daemon.kill()
      await lab().daemon.start({ config: { mode: 'userspace' } })
      await lab().daemon.synced()
    }),
  )
  await expectAlone('userspace')
})

test(`userspace to ${KERNEL} by restart: nothing is left but new connections`, async () => {
  await beginIn('userspace')
  const { agent } = await lab().site('pod', POD.source)
  const { id } = await agent.call('holdOpen', { ...POD, count: 3, everyMs: 200 })
  const question = { ...QUERY, sourcePort: nextSource.port++ }
  expect(await modesOf(1, question)).toEqual(['userspace'])
  await lab().daemon.kill()
  expect(await traces('userspace')).not.toEqual([])
  await lab().daemon.start({ config: { mode: KERNEL } })
  await expectAlone(KERNEL)
  await expect.poll(() => modesOf(1, question)).toEqual([KERNEL])
  expect((await agent.call('holdCheck', { id })).lost).toHaveLength(3)
})

test('--cleanup removes both while one gives the node back to the other', async () => {
  await beginIn('userspace')
  const { agent } = await lab().site('pod', POD.source)
  const { id } = await agent.call('holdOpen', { ...POD, count: 3, everyMs: 200 })
  await reconfigure(lab(), { mode: KERNEL })
  await expectServing(KERNEL)
  await lab().daemon.kill()
  for (const mode of [KERNEL, 'userspace'] as const) expect(await traces(mode)).not.toEqual([])
  await lab().daemon.once(['--cleanup'])
  for (const mode of [KERNEL, 'userspace'] as const) expect(await traces(mode)).toEqual([])
  expect(await diversions()).toEqual([])
  await agent.call('holdEnd', { id, how: 'reset' })
})

test('--cleanup makes conntrack forget whom it led to the forwarder', async () => {
  await beginIn('userspace')
  const { namespace } = lab().node
  const ledHere = async () => (await namespace.exec(['conntrack', '-L'])).match(/ sport=1027[01] /g)
  expect(await ledHere()).not.toBeNull()
  await lab().daemon.kill()
  await lab().daemon.once(['--cleanup'])
  expect(await ledHere()).toBeNull()
})
