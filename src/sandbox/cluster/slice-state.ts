import { arrayAt, type JsonObject, scalarText, stringAt, valueAt } from '../../lib/json.ts'
import { SERVICE_NAME } from '../../resources/label-names.ts'

/** The content of one EndpointSlice: the ready endpoints by the name of their pod, else by address. */
export interface SliceState {
  readonly service: string
  readonly ready: readonly string[]
  readonly notReady: readonly string[]
}

export function readSlice(slice: JsonObject): SliceState {
  const endpoints = arrayAt(slice, 'endpoints').map((endpoint) => ({
    ready: valueAt(endpoint, 'conditions', 'ready') !== false,
    name: stringAt(endpoint, 'targetRef', 'name') || nameOf(endpoint),
  }))
  return {
    service: stringAt(slice, 'metadata', 'labels', SERVICE_NAME),
    ready: endpoints.filter(({ ready }) => ready).map(({ name }) => name),
    notReady: endpoints.filter(({ ready }) => !ready).map(({ name }) => name),
  }
}

function nameOf(endpoint: Parameters<typeof stringAt>[0]): string {
  const [address] = arrayAt(endpoint, 'addresses')
  const node = stringAt(endpoint, 'nodeName')
  return `${scalarText(address)}${node === '' ? '' : ` on ${node}`}`
}
