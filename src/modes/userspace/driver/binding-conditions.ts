import { isServed } from '../../../forwarding/node-context.ts'
import { familyOf } from '../../../lib/ip.ts'
import type { Service, ServiceKey } from '../../../resources/types.ts'
import type { ConditionSink, ModeReview } from '../../definition/mode-view.ts'
import { describeBinding } from './bind-map.ts'
import type { Binding, UserspaceConfiguration } from './configuration.ts'

const UNMATCHED = 'bind-map-unmatched'
const UNUSED = 'bind-map-unused'
const LISTEN_FAILED = 'listen-failed'
const LISTEN_CODE = 'NP_USERSPACE_LISTEN'
const MAX_SHOWN = 5

/** What conditions of `userspace.bindMap` are computed from. */
export interface BindingFacts {
  readonly config: Pick<UserspaceConfiguration, 'userspace'> & { readonly proxyName: string }
  /** The bindings at which the mode listens; `unused` if it redirects packets; undefined if another mode is active. */
  readonly bindings: readonly Binding[] | 'unused' | undefined
  readonly serviceOf: (key: ServiceKey) => Service | undefined
}

/**
 * Entries of `userspace.bindMap` that serve nothing. They do not block readiness: the owner of a
 * Service may create or delete it at any time.
 */
export function reviewBindings(conditions: ConditionSink, facts: BindingFacts): void {
  const { config, bindings } = facts
  const isUnused = bindings === 'unused' && config.userspace.bindMap.length > 0
  review(conditions, UNUSED, {
    blocksReadiness: false,
    message: isUnused
      ? 'userspace.bindMap is not used, because packets are redirected: remove it, or set userspace.entry to bind'
      : undefined,
  })
  const served: readonly Binding[] = bindings === undefined || bindings === 'unused' ? [] : bindings
  const lost = served.flatMap((binding) => {
    const fault = faultOf(binding, facts)
    return fault === undefined ? [] : [`${describeBinding(binding)} (${fault})`]
  })
  review(conditions, UNMATCHED, {
    blocksReadiness: false,
    message:
      lost.length === 0
        ? undefined
        : `entries of userspace.bindMap serve nothing: ${shown(lost)}; create what they name, or correct them`,
  })
}

/**
 * An address of `userspace.bindMap` at which the daemon cannot listen blocks readiness, because the configuration
 * requires it.
 */
export const listenErrors: Pick<ModeReview, 'isConfigured' | 'configuredErrors'> = {
  isConfigured: ({ code }) => code === LISTEN_CODE,
  configuredErrors: (conditions, messages) =>
    review(conditions, LISTEN_FAILED, {
      blocksReadiness: true,
      message:
        messages.length === 0
          ? undefined
          : `addresses of userspace.bindMap are not served: ${shown(messages)}; free them or choose others (it is tried again)`,
    }),
}

function review(
  conditions: ConditionSink,
  reason: string,
  {
    message,
    blocksReadiness,
  }: { readonly message: string | undefined; readonly blocksReadiness: boolean },
): void {
  if (message === undefined) conditions.clear(reason)
  else conditions.raise(reason, { message, blocksReadiness })
}

function shown(texts: readonly string[]): string {
  const rest = texts.length - MAX_SHOWN
  return texts.slice(0, MAX_SHOWN).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

/** Why a binding serves nothing; undefined if it serves a port. */
function faultOf(
  { ip, service: key, portRef, protocol }: Binding,
  { serviceOf, config }: BindingFacts,
): string | undefined {
  const service = serviceOf(key)
  if (service === undefined) return 'no such Service'
  const proxyName = config.proxyName === '' ? undefined : config.proxyName
  if (!isServed(service, { proxyName }))
    return 'the Service is headless or belongs to another proxy'
  const ports = service.ports.filter((port) => port.protocol === protocol)
  const isNamed = (port: Service['ports'][number]) =>
    port.name === portRef || String(port.port) === portRef
  if (portRef === undefined && ports.length > 1) return `several ${protocol} ports; name one`
  if (portRef === undefined ? ports.length === 0 : !ports.some(isNamed)) {
    return `no such ${protocol} port`
  }
  const family = familyOf(ip)
  const hasFamily = service.clusterIPs.some((clusterIP) => familyOf(clusterIP) === family)
  return hasFamily ? undefined : `the Service has no IPv${family} address`
}
