import type { Resource } from '../resource.ts'
import { endpointSlices } from './endpoint-slice.ts'
import { endpoints } from './endpoints.ts'
import { events } from './event.ts'
import { namespaces } from './namespace.ts'
import { nodes } from './node.ts'
import { pods } from './pod.ts'
import { services } from './service.ts'

/** Every resource that this server has. */
export const catalogue: readonly Resource[] = [
  endpoints,
  events,
  namespaces,
  nodes,
  pods,
  services,
  endpointSlices,
]
