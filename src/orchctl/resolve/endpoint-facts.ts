import type { IpAddress } from '../../lib/ip.ts'
import { arrayAt, type Json, type JsonObject, stringAt, valueAt } from '../../lib/json.ts'
import { parseLegacyIp } from '../../lib/legacy-address.ts'

/** One address of endpoints, with the place where it is written and the Pod that has it. */
export interface EndpointFact {
  readonly kind: 'EndpointSlice' | 'Endpoints'
  /** `namespace/name` of the object. */
  readonly name: string
  /** `endpoints[2]`, `subsets[0].notReadyAddresses[1]` */
  readonly field: string
  readonly ip: IpAddress
  readonly hostname: string
  /** `namespace/name`; empty: the address does not belong to a Pod. */
  readonly pod: string
  readonly isReady: boolean
  readonly isTerminating: boolean
}

/** The addresses of an EndpointSlice, or of v1 Endpoints. */
export function endpointFacts(object: JsonObject): readonly EndpointFact[] {
  const metadata = (field: string): string => stringAt(object, 'metadata', field)
  const name = `${metadata('namespace')}/${metadata('name')}`
  if (stringAt(object, 'kind') === 'Endpoints') return factsOfSubsets(object, name)
  return arrayAt(object, 'endpoints').flatMap((endpoint, index) => {
    const [address] = arrayAt(endpoint, 'addresses')
    const condition = (key: string): Json | undefined => valueAt(endpoint, 'conditions', key)
    return factOf(address, endpoint, {
      kind: 'EndpointSlice',
      name,
      field: `endpoints[${index}]`,
      isReady: condition('ready') !== false,
      isTerminating: condition('terminating') === true,
    })
  })
}

function factsOfSubsets(object: JsonObject, name: string): readonly EndpointFact[] {
  return arrayAt(object, 'subsets').flatMap((subset, at) =>
    (['addresses', 'notReadyAddresses'] as const).flatMap((list) =>
      arrayAt(subset, list).flatMap((address, index) =>
        factOf(valueAt(address, 'ip'), address, {
          kind: 'Endpoints',
          name,
          field: `subsets[${at}].${list}[${index}]`,
          isReady: list === 'addresses',
          isTerminating: false,
        }),
      ),
    ),
  )
}

type FactOrigin = Omit<EndpointFact, 'ip' | 'hostname' | 'pod'>

function factOf(
  address: Json | undefined,
  endpoint: Json,
  origin: FactOrigin,
): readonly EndpointFact[] {
  const ip = typeof address === 'string' ? parseLegacyIp(address) : undefined
  if (ip === undefined) return []
  const target = (field: string): string => stringAt(endpoint, 'targetRef', field)
  const namespace = target('namespace') || origin.name.slice(0, origin.name.indexOf('/'))
  const pod = target('kind') === 'Pod' ? `${namespace}/${target('name')}` : ''
  return [{ ...origin, ip, hostname: stringAt(endpoint, 'hostname'), pod }]
}
