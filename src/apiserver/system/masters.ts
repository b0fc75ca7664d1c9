import type { Family, IpAddress } from '../../lib/ip.ts'
import { MASTER_NAMES, MASTER_NAMESPACE } from '../../resources/pod-environment.ts'
import { services } from '../kinds/service.ts'
import { storageKey } from '../resource/resource.ts'
import type { AddressRange } from '../services/address-range.ts'

/** One of the Services by which Pods reach the API. */
export interface Master {
  readonly name: string
  /** Its ClusterIP. */
  readonly ip: IpAddress
  readonly family: Family
}

/** Whether a storage key is that of a Service of the API. */
export function isOfTheApi(key: string): boolean {
  return MASTER_NAMES.some((name) => key === storageKey(services, MASTER_NAMESPACE, name))
}

/** The Services of the API with the first addresses of a range, one for each. */
export function mastersOf(range: AddressRange): readonly Master[] {
  const { family, size } = range
  return MASTER_NAMES.slice(0, size).map((name, index) => ({ name, family, ip: range.at(index) }))
}
