import { createSecureContext } from 'node:tls'
import {
  NODES,
  PODS,
  READY_ENDPOINTS,
  READY_POD,
  readinessPatch,
  readyNode,
  readyPod,
  readyService,
  SERVICES,
} from '../objects.ts'
import { Client } from './client.ts'
import { expiry } from './expiry.ts'
import type { LoadReports, ReadinessOrder } from './order.ts'
import { tlsOf } from './secure.ts'
import { Watcher, watchFromNow } from './watcher.ts'

interface EndpointsEvent {
  readonly object: { readonly subsets?: readonly { readonly addresses?: readonly unknown[] }[] }
}

/**
 * Measures the time from sending the readiness of a Pod until a watch shows its address, and the same for unreadiness.
 */
export async function readiness(order: ReadinessOrder): Promise<LoadReports['readiness']> {
  await using client = new Client(order, 1)
  const path = await watchFromNow(order, READY_ENDPOINTS)
  let isShown = false
  let changed = Promise.withResolvers<void>()
  const place = { target: order, path, secureContext: createSecureContext(tlsOf(order)) }
  using _watch = await Watcher.open(place, (line) => {
    const { object } = JSON.parse(line) as EndpointsEvent
    isShown = object.subsets?.some(({ addresses = [] }) => addresses.length > 0) ?? false
    changed.resolve()
  })
  const become = async (isReady: boolean): Promise<number> => {
    const sent = performance.now()
    changed = Promise.withResolvers()
    const body = readinessPatch(isReady)
    await client.send({ method: 'PATCH', path: `${READY_POD}/status`, body })
    while (isShown !== isReady) {
      await Promise.race([changed.promise, expiry(order.boundMs)])
      changed = Promise.withResolvers()
    }
    return performance.now() - sent
  }
  await client.send({ method: 'POST', path: NODES, body: readyNode() })
  await client.send({ method: 'POST', path: SERVICES, body: readyService() })
  await client.send({ method: 'POST', path: PODS, body: readyPod() })
  const ms: number[] = []
  for (let n = 0; n < order.times; n++) {
    ms.push(await become(true))
    await become(false)
  }
  return { ms }
}
