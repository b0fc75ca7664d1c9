import { type ClusterEvent, ClusterStore } from '../../cluster/cluster-store.ts'
import { parseIp } from '../../lib/ip.ts'
import { decodeEndpointSlice } from '../../resources/endpoint-slice.ts'
import { decodeService } from '../../resources/service.ts'
import { sound } from '../../resources/testing/raw-objects.ts'
import { Zone } from '../zone/zone.ts'
import { SERVICES, SLICES } from './golden-cluster.ts'

/** The Services that an API server itself creates in `default`. */
const API_SERVICES = ['kubernetes', 'orch'].map((name, index) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'default', name },
  spec: {
    clusterIP: `10.96.0.${index + 1}`,
    ports: [{ name: 'https', protocol: 'TCP', port: 443 }],
  },
}))

/** The objects of the golden cluster as events. */
export function goldenEvents(): readonly ClusterEvent[] {
  const services = [...API_SERVICES, ...SERVICES].map((raw) => sound(decodeService(raw)))
  const slices = SLICES.map((raw) => sound(decodeEndpointSlice(raw, { includeHeadless: true }))!)
  return [
    ...services.map((value) => ({ kind: 'service', key: value.key, value }) as const),
    ...slices.map((value) => ({ kind: 'endpoints', name: value.name, value }) as const),
  ]
}

/** A zone of the golden cluster, and the store that it reads. */
export function goldenZone(): { readonly zone: Zone; readonly store: ClusterStore } {
  const store = new ClusterStore()
  const serverAddresses = [parseIp('127.0.0.1')!]
  const zone = new Zone(store, { domain: 'cluster.local', serverAddresses, serial: 1 })
  zone.update(store.apply(goldenEvents()).services)
  return { zone, store }
}
