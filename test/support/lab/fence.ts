import type { ApiObject } from './objects.ts'

/**
 * An object without effect, written after others of its kind: when the daemon has seen it, it has seen the others.
 * It is needed because deletions have no revision on some servers, and the daemon never sees objects that its selector
 * excludes.
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
