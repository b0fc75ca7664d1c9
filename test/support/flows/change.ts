import type { Change, RawSlice } from '../../flows/flow-file.ts'
import type { Api } from '../lab/api.ts'
import type { ApiObject } from '../lab/objects.ts'

export interface ChangeContext {
  readonly api: Api
  /** The last endpoint `ip:port` of the sticky client. */
  readonly affine: string | undefined
}

/** Carries out one change of the flow file at the API, as a user would. */
export async function applyChange(change: Change, context: ChangeContext): Promise<void> {
  const { api } = context
  for (const key of change.deleteServices ?? []) await api.remove('Service', key)
  for (const key of change.deleteEndpointSlices ?? []) await api.remove('EndpointSlice', key)
  for (const [key, labels] of Object.entries(change.setServiceLabels ?? {})) {
    const found = (await api.get('Service', key)) as ApiObject
    await api.apply({ ...found, metadata: { ...found.metadata, labels } })
  }
  for (const [key, affinity] of Object.entries(change.setAffinity ?? {})) {
    await api.patch('Service', key, {
      spec: { sessionAffinity: affinity, sessionAffinityConfig: null },
    })
  }
  for (const [key, spec] of Object.entries(change.patchServiceSpec ?? {})) {
    await api.patch('Service', key, { spec })
  }
  for (const [key, ips] of Object.entries(change.replaceEndpoints ?? {})) {
    await api.patch('EndpointSlice', key, { endpoints: ips.map(readyEndpoint) })
  }
  if (change.deleteEndpointOf !== undefined) await deleteAffine(context)
}

function readyEndpoint(ip: string) {
  return { addresses: [ip], conditions: { ready: true, serving: true, terminating: false } }
}

/** Removes the endpoint of the sticky client from the Service with affinity. */
async function deleteAffine({ api, affine }: ChangeContext): Promise<void> {
  if (affine === undefined) throw new Error('no client has stuck to an endpoint yet')
  const found = (await api.get('EndpointSlice', 'ns1/aff-1')) as RawSlice
  const endpoints = found.endpoints.filter(
    ({ addresses }) => !affine.startsWith(`${addresses[0]}:`),
  )
  await api.patch('EndpointSlice', 'ns1/aff-1', { endpoints })
}
