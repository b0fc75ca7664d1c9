import type { ApiObject } from './objects.ts'

/**
 * An object that changes nothing, written after others of its kind: once the
 * daemon has seen it, it has seen them. Deletions carry no revision on some
 * servers, and objects that a selector leaves out are never seen at all.
 */
export function fenceOf(kind: string, apiVersion: string, serial: number): ApiObject {
  const metadata = {
    name: 'fence',
    namespace: 'lab',
    annotations: { 'lab.test/serial': String(serial) },
  }
  const common = { apiVersion, kind, metadata }
  if (kind === 'Service') {
    return { ...common, spec: { clusterIP: 'None', ports: [{ port: 80, protocol: 'TCP' }] } }
  }
  if (kind === 'Endpoints') return { ...common, subsets: [] }
  const labels = { 'kubernetes.io/service-name': 'fence' }
  const slice = { addressType: 'IPv4', endpoints: [], ports: [] }
  return { ...common, ...slice, metadata: { ...metadata, labels } }
}
