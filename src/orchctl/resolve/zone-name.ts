import type { ServiceKey } from '../../resources/types.ts'

/** What a name is in the cluster domain, or that it lies outside of it. */
export type ZoneName =
  | { readonly kind: 'outside' }
  /** `DOMAIN`, `svc.DOMAIN`, `dns-version.DOMAIN` and everything else that names no namespace. */
  | { readonly kind: 'zone'; readonly branch: string }
  | { readonly kind: 'namespace'; readonly namespace: string }
  | {
      readonly kind: 'service'
      readonly namespace: string
      readonly service: string
      readonly key: ServiceKey
      /** What the name has before that of the Service. */
      readonly below: readonly string[]
    }

/** Reads a name in lower case, without the final dot. */
export function zoneNameOf(name: string, domain: string): ZoneName {
  if (name === domain) return { kind: 'zone', branch: '' }
  if (!name.endsWith(`.${domain}`)) return { kind: 'outside' }
  const labels = name.slice(0, -domain.length - 1).split('.')
  const branch = labels.pop() ?? ''
  const [namespace, service] = [labels.at(-1), labels.at(-2)]
  if (branch !== 'svc' || namespace === undefined) return { kind: 'zone', branch }
  if (service === undefined) return { kind: 'namespace', namespace }
  const key = `${namespace}/${service}` as ServiceKey
  return { kind: 'service', namespace, service, key, below: labels.slice(0, -2) }
}
