import { expect, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { type IpAddress, parseIp } from '../../lib/ip.ts'
import { type IpvsCommand, type RealServer, virtualServerKey } from './ipvs.ts'
import { IpvsSocket, runCommands } from './netlink-ipvs.ts'
import { StubKernel } from './testing/stub-kernel.ts'

const SETTINGS = { scheduler: 'rr', flags: [], persistence: undefined } as const
const ip = (text: string) => parseIp(text) as IpAddress
const service = (port: number) => {
  return { family: 4, protocol: 'TCP', ip: ip('10.96.0.1'), port } as const
}
const server = (port: number): RealServer => {
  const thresholds = { upperThreshold: 0, lowerThreshold: 0 }
  return { ip: ip('10.1.0.4'), port, weight: 1, forwarding: 'masquerade', ...thresholds }
}
/** 1,000 virtual servers with two real servers each; one of them is requested twice. */
const ADDITIONS = Array.from({ length: 1000 }, (_, i): IpvsCommand[] => [
  { do: 'addService', id: service(i + 1), settings: SETTINGS },
  { do: 'addServer', id: service(i + 1), server: server(1) },
  { do: 'addServer', id: service(i + 1), server: server(i === 700 ? 1 : 2) },
]).flat()

test('commands run in their order, in batches, and refusals have their index', async () => {
  const kernel = new StubKernel()
  const socket = new IpvsSocket(kernel.open, systemClock)
  const refusals = await runCommands(socket, ADDITIONS)
  expect(refusals).toMatchObject([{ index: 700 * 3 + 2, errno: 'EEXIST' }])
  const sizes = kernel.sockets[0]!.sent.map((bytes) => bytes.length)
  expect(sizes.filter((size) => size > 100)).toHaveLength(6)
  expect(kernel.executed.map(virtualServerOf)).toEqual(ADDITIONS.map(virtualServerOf))
})

function virtualServerOf({ id }: IpvsCommand): string {
  return virtualServerKey(id)
}
