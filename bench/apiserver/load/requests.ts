import { ENDPOINTS, endpointsObject, SERVICES, serviceObject } from '../objects.ts'
import { Client, drive } from './client.ts'
import type { CreateOrder, GetOrder, ListOrder, LoadReports, Throughput } from './order.ts'

export async function create(order: CreateOrder): Promise<Throughput> {
  await using client = new Client(order, order.clients)
  const isService = order.kind === 'services'
  const path = isService ? SERVICES : ENDPOINTS
  const object = isService ? serviceObject : endpointsObject
  const end = order.from + order.count
  let index = order.from
  return await drive(client, order.clients, () =>
    index < end ? { method: 'POST', path, body: object(index++) } : undefined,
  )
}

export async function get(order: GetOrder): Promise<Throughput> {
  await using client = new Client(order, order.clients)
  const end = performance.now() + order.ms
  const request = { method: 'GET', path: order.path } as const
  return await drive(client, order.clients, () => (performance.now() < end ? request : undefined))
}

export async function list({ path, headers, times, ...target }: ListOrder) {
  await using client = new Client(target, 1)
  const ms: number[] = []
  let bytes = 0
  for (let n = 0; n < times; n++) {
    const sent = performance.now()
    bytes = await client.send({ method: 'GET', path, headers })
    ms.push(performance.now() - sent)
  }
  return { ms, bytes } satisfies LoadReports['list']
}
