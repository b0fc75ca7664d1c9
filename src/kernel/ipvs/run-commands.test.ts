import { expect, test } from 'vitest'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { type IpAddress, parseIp } from '../../lib/ip.ts'
import { type IpvsCommand, type RealServer, virtualServerKey } from './ipvs.ts'
import { IpvsSocket } from './ipvs-socket.ts'
import { runCommands } from './run-commands.ts'
import { StubKernel } from './stub-kernel.ts'

const SETTINGS = { scheduler: 'rr', flags: [], persistence: undefined } as const
const ip = (text: string) => parseIp(text) as IpAddress
const service = (port: number) => {
  return { family: 4, protocol: 'TCP', ip: ip('10.96.0.1'), port } as const
}
const server = (port: number): RealServer => {
  const thresholds = { upperThreshold: 0, lowerThreshold: 0 }
  return { ip: ip('10.1.0.4'), port, weight: 1, forwarding: 'masquerade', ...thresholds }
}
/** 1,000 virtual servers with two real servers each; one of them is asked for twice. */
const ADDITIONS = Array.from({ length: 1000 }, (_, i): IpvsCommand[] => [
  { do: 'addService', id: service(i + 1), settings: SETTINGS },
  { do: 'addServer', id: service(i + 1), server: server(1) },
  { do: 'addServer', id: service(i + 1), server: server(i === 700 ? 1 : 2) },
]).flat()

/** Every batch seems to take so long. */
function setUp(msPerBatch: number) {
  const kernel = new StubKernel()
  let now = 0
  const clock: Clock = { ...systemClock, now: () => (now += msPerBatch) }
  const socket = new IpvsSocket(kernel.open, systemClock)
  const batches = () => {
    const sizes = kernel.sockets[0]!.sent.map((bytes) => bytes.length)
    return sizes.filter((size) => size > 100).length
  }
  return {
    kernel,
    run: (commands: readonly IpvsCommand[]) => runCommands(socket, clock, commands),
    batches,
  }
}

test('commands run in the order given while the kernel is fast', async () => {
  const { kernel, run, batches } = setUp(10)
  expect(await run(ADDITIONS)).toMatchObject([{ index: 700 * 3 + 2, errno: 'EEXIST' }])
  expect(batches()).toBe(6)
  expect(kernel.executed.map(virtualServerOf)).toEqual(ADDITIONS.map(virtualServerOf))
})

test('when the kernel searches, real servers go from the last virtual server to the first', async () => {
  const { kernel, run } = setUp(100)
  expect(await run(ADDITIONS)).toMatchObject([{ index: 700 * 3 + 2, errno: 'EEXIST' }])
  const { services } = kernel.table
  expect(services.size).toBe(1000)
  expect([...services.values()].every(({ servers }) => servers.size >= 1)).toBe(true)
  const later = kernel.executed.slice(500)
  const first = later.findIndex(({ do: what }) => what === 'addServer')
  expect(later.slice(0, first).every(({ do: what }) => what === 'addService')).toBe(true)
  const ports = later.slice(first).map(({ id }) => ('port' in id ? id.port : 0))
  expect(ports).toEqual([...ports].sort((a, b) => b - a))
  expect(ports.length).toBe(2000 - 333)
})

test('what is not an addition keeps its place', async () => {
  const { kernel, run } = setUp(100)
  const change: IpvsCommand = {
    do: 'setServer',
    id: service(1),
    server: { ...server(1), weight: 9 },
  }
  const removal: IpvsCommand = { do: 'deleteService', id: service(900) }
  const again: IpvsCommand = { do: 'addService', id: service(900), settings: SETTINGS }
  expect(await run([...ADDITIONS, change, removal, again])).toHaveLength(1)
  expect(kernel.executed.slice(-3)).toMatchObject([change, removal, again])
  expect(kernel.table.services.get(virtualServerKey(service(900)))?.servers.size).toBe(0)
})

function virtualServerOf({ id }: IpvsCommand): string {
  return virtualServerKey(id)
}
