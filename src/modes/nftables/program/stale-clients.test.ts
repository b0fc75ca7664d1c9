import { expect, test } from 'vitest'
import type { Element } from '../../../kernel/nftables/objects.ts'
import { backend, ip } from '../../testing/mode-fixtures.ts'
import { address, backendData, port } from '../keys/encode.ts'
import { staleClients } from './stale-clients.ts'

const CLIENT = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'].map((text) => address(ip(text)))
const backends = [backend('fd00::1'), backend('fd00::2', { port: 9090 })].map(backendData)

function element(client: number, data: Buffer): Element {
  return { key: CLIENT[client]!, data }
}

test('clients of a backend that left, where one map has address and port', () => {
  const gone = element(1, backendData(backend('fd00::1', { port: 9090 })))
  const clients = [element(0, backends[0]!), gone, element(2, backends[1]!)]
  expect(staleClients(backends, clients)).toEqual({ clients: [gone], ports: [] })
})

test('in two maps a client is stale when address and port are of two backends, or one of them is missing', () => {
  const at = (client: number, text: string) => element(client, address(ip(text)))
  const good = [at(0, 'fd00::1'), element(0, port(8080))] as const
  const mixed = [at(1, 'fd00::1'), element(1, port(9090))] as const
  const alone = [at(2, 'fd00::1'), element(3, port(8080))] as const
  const [clients, ports] = [
    [good[0], mixed[0], alone[0]],
    [good[1], mixed[1], alone[1]],
  ]
  expect(staleClients(backends, clients, ports)).toEqual({
    clients: [mixed[0], alone[0]],
    ports: [mixed[1], alone[1]],
  })
})

test('without a backend every client is stale', () => {
  const clients = [element(0, backends[0]!)]
  expect(staleClients([], clients).clients).toEqual(clients)
})
