import type { ClusterEvent } from '../../../../cluster/cluster-event.ts'
import type { ClusterStore } from '../../../../cluster/cluster-store.ts'
import { isDeepEqual } from '../../../../lib/equal.ts'
import { arrayAt, isJsonObject, type JsonObject, objectAt, stringAt } from '../../../../lib/json.ts'
import { quote } from '../../../../lib/quote.ts'
import type { EndpointGroup, EndpointPort, Protocol, Service } from '../../../../resources/types.ts'

/** What controllers will make of the endpoints of a Service that is applied. */
export interface ExpectedEndpoints {
  readonly events: readonly ClusterEvent[]
  /** What cannot be known without reading Pods: one sentence each. */
  readonly notes: readonly string[]
}

/** The Service of a manifest. */
export interface AppliedService {
  readonly object: JsonObject
  readonly service: Service
  /** The selector that the API server has now; undefined: there is no such Service, or it could not be read. */
  readonly selector: JsonObject | undefined
}

const NONE: ExpectedEndpoints = { events: [], notes: [] }

/**
 * The endpoints that a Service with a selector has once controllers have followed its ports: target ports that are
 * numbers decide. Names of ports and another selector concern Pods, which node-proxy does not read, so a note says what
 * stays unknown. Endpoints of a Service without a selector are written by hand and stay.
 */
export function expectedEndpoints(
  { object, service, selector: before }: AppliedService,
  store: Pick<ClusterStore, 'endpointSourcesOf'>,
): ExpectedEndpoints {
  const selector = objectAt(object, 'spec', 'selector')
  if (Object.keys(selector).length === 0 || service.type === 'ExternalName') return NONE
  const notes: string[] = []
  if (before !== undefined && !isDeepEqual(before, selector)) {
    notes.push(
      `the selector of Service ${service.key} changes: which Pods become its endpoints plan cannot know; it shows the endpoints that there are`,
    )
  }
  const ports = arrayAt(object, 'spec', 'ports').filter(isJsonObject)
  const targets = ports.map(targetOf)
  for (const { number, target, port } of targets) {
    if (number !== undefined) continue
    notes.push(
      `targetPort ${quote(String(target))} of port ${String(port)} of Service ${service.key} is a name that Pods give to a number, which plan cannot know; it shows the number that the endpoints have`,
    )
  }
  const events = store.endpointSourcesOf(service.key).flatMap((source): ClusterEvent[] => {
    const groups = source.groups.map((group) => withTargets(group, targets))
    const isSame = groups.every((group, index) => group === source.groups[index])
    const value = { ...source, groups }
    return isSame ? [] : [{ kind: 'endpoints', name: source.name, value }]
  })
  return { events, notes }
}

interface Target {
  readonly name: string
  readonly protocol: Protocol
  readonly port: unknown
  readonly target: unknown
  /** Undefined: a name. */
  readonly number: number | undefined
}

function targetOf(port: JsonObject): Target {
  const target = port['targetPort'] ?? port['port']
  return {
    name: stringAt(port, 'name'),
    protocol: (stringAt(port, 'protocol') || 'TCP') as Protocol,
    port: port['port'],
    target,
    number: typeof target === 'number' ? (target === 0 ? Number(port['port']) : target) : undefined,
  }
}

/** The group itself where its ports stay. */
function withTargets(group: EndpointGroup, targets: readonly Target[]): EndpointGroup {
  const ports = targets.flatMap(({ name, protocol, number }): EndpointPort[] => {
    const present = group.ports.find((one) => one.name === name && one.protocol === protocol)
    const port = number ?? present?.port
    return port === undefined ? [] : [{ name, protocol, port }]
  })
  const isSame =
    ports.length === group.ports.length &&
    ports.every(({ name, protocol, port }) =>
      group.ports.some(
        (one) => one.name === name && one.protocol === protocol && one.port === port,
      ),
    )
  return isSame ? group : { ...group, ports }
}
