import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type FakeKernel,
  fakeKernel,
  foreignAt,
  ipvsSettings,
  serversOf,
  stateOf,
} from '../../../test/support/modes/fake-ipvs-node.ts'
import {
  afterFreshStart,
  afterHistory,
  type State,
  someHistory,
  type World,
} from '../../../test/support/sync/histories.ts'
import type { SetCommand } from '../../kernel/ipset/sets.ts'
import type { InjectedFailure } from '../../kernel/iptables/testing/fake-iptables.ts'
import type { IpvsCommand, VirtualServerId } from '../../kernel/ipvs/ipvs.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { ip, settings } from '../testing/mode-fixtures.ts'
import { IpvsMode } from './mode.ts'

const HISTORIES = Number(process.env['NP_HISTORIES'] ?? 50)

type Failure =
  | { readonly of: 'rules'; readonly failure: InjectedFailure }
  /** These commands are refused until the next failure. */
  | { readonly of: 'servers'; readonly command: IpvsCommand['do'] }
  | { readonly of: 'sets'; readonly command: SetCommand['do'] }
  | { readonly of: 'routes' | 'relays' }
  /** No question is answered until the next failure; or one answer is lost. */
  | { readonly of: 'silence' | 'answer' }
  /** What another process does, and what clients do. */
  | { readonly of: 'flush' | 'members' | 'clients' }

const commands = ['addService', 'setService', 'deleteService', 'addServer', 'deleteServer'] as const
const failure: fc.Arbitrary<Failure> = fc.oneof(
  fc
    .constantFrom<InjectedFailure>({ kind: 'refused' } as const, { kind: 'locked' } as const, {
      kind: 'timeout',
      applied: true,
    })
    .map((given) => ({ of: 'rules', failure: given }) as const),
  fc.constantFrom(...commands).map((command) => ({ of: 'servers', command }) as const),
  fc.constantFrom('create', 'add', 'delete').map((command) => ({ of: 'sets', command }) as const),
  fc
    .constantFrom('routes', 'relays', 'silence', 'answer', 'flush', 'members', 'clients')
    .map((of) => ({ of }) as const),
)

/** Foreign virtual servers: one by itself, one at a point that Services want too. */
const FOREIGN: readonly VirtualServerId[] = [
  { family: 4, protocol: 'TCP', ip: ip('172.31.0.1'), port: 80 },
  { family: 4, protocol: 'TCP', ip: ip('172.30.0.17'), port: 80 },
]

interface Kernel extends FakeKernel {
  readonly refusals: (() => void)[]
}

const node = { addresses: { 4: [ip('192.168.0.2')], 6: [] }, name: 'here', zone: 'zone-a' }

const world: World<Kernel, Failure> = {
  bareKernel() {
    const kernel = { ...fakeKernel(), refusals: [] }
    void kernel.ipvs.run(FOREIGN.flatMap(foreignAt))
    return kernel
  },
  mode(kernel, clock) {
    void kernel.relays.closeAll()
    const given = ipvsSettings({
      netfilter: settings({ localhostNodePorts: true }),
      nodeAddresses: node.addresses[4],
      drain: { tcp: 60, udp: 0, sctp: 60 },
    })
    return new IpvsMode(given, { ...kernel, clock })
  },
  async inject(kernel, given) {
    heal(kernel)
    await harm(kernel, given)
  },
  heal,
  node: {
    ...node,
    allowedExternalIPs: undefined,
    proxyName: undefined,
    affinityScope: 'service',
    drainSeconds: { TCP: 60, UDP: 0, SCTP: 60 },
  },
}

function heal({ refusals, ipvs, routes, relays }: Kernel): void {
  for (const end of refusals.splice(0)) end()
  ipvs.failure = undefined
  routes.refusal = undefined
  relays.taken.clear()
}

async function harm(kernel: Kernel, given: Failure): Promise<void> {
  const { ipvs, sets, iptables, routes, relays, refusals } = kernel
  switch (given.of) {
    case 'rules':
      return iptables.failNext(given.failure)
    case 'servers':
      refusals.push(ipvs.refuse('ENOMEM', (command) => command.do === given.command))
      return
    case 'sets':
      refusals.push(sets.refuse((command) => command.do === given.command))
      return
    case 'routes':
      routes.refusal = new NodeProxyError('NP_KERNEL_ROUTE', 'ip rule: ENOBUFS')
      return
    case 'relays':
      for (const port of [30_001, 30_002]) relays.taken.add(`tcp/127.0.0.1:${port}`)
      return
    case 'silence':
      ipvs.failure = new NodeProxyError('NP_KERNEL_NETLINK', 'no answer')
      return
    case 'answer':
      return loseAnswer(kernel)
    case 'flush':
      ipvs.flushByForeigner()
      await ipvs.run(FOREIGN.flatMap(foreignAt))
      return
    case 'members':
      await sets.run([{ do: 'flush', name: 'NPVS-4-MASQUERADE' }])
      return
    case 'clients':
      return connect(kernel)
  }
}

function loseAnswer({ ipvs, refusals }: Kernel): void {
  const run = ipvs.run.bind(ipvs)
  refusals.push(() => {
    ipvs.run = run
  })
  ipvs.run = async (all) => {
    ipvs.run = run
    await run(all)
    throw new NodeProxyError('NP_KERNEL_NETLINK', 'the answer was lost')
  }
}

async function connect({ ipvs }: Kernel): Promise<void> {
  for (const { id } of await ipvs.services()) {
    for (const server of (await ipvs.servers(id)) ?? []) {
      ipvs.setConnections(id, server, { activeConnections: 1 })
    }
  }
}

test(`any of ${HISTORIES} histories ends in the kernel state of a fresh start`, async () => {
  await fc.assert(
    fc.asyncProperty(someHistory(failure), async (steps) => {
      const state: State = new Map()
      const { kernel, failed } = await afterHistory(world, steps, state)
      expect(failed.filter((error) => !(error instanceof NodeProxyError))).toEqual([])
      const fresh = await afterFreshStart(world, state)
      expect(await stateOf(kernel)).toEqual(await stateOf(fresh))
      expect(await serversOf(kernel)).toMatchObject({
        '4/tcp/172.30.0.17:80': 'wlc|10.7.7.7:80*1/route',
        '4/tcp/172.31.0.1:80': 'wlc|10.7.7.7:80*1/route',
      })
    }),
    { numRuns: HISTORIES },
  )
}, 600_000)
