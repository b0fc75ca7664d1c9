import { parseIp } from '../../lib/ip.ts'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import type { ClusterEvidence } from '../evidence/cluster-evidence.ts'
import type { Finding } from '../evidence/finding.ts'
import { checkOfEach } from '../evidence/finding.ts'
import { keyOf, nameOf, namespaceOf } from '../evidence/objects.ts'

/** An ExternalName that no resolver can follow: an address, a Service that does not exist, or an alias of itself. */
export const externalName = checkOfEach('services', 'external-name', (service, evidence) => {
  const target = targetOf(service)
  if (target === '') return []
  const wrong = addressProblem(target) ?? aliasProblem(service, evidence)
  if (wrong === undefined) return []
  const commands = [`orchctl -n ${namespaceOf(service)} edit service/${nameOf(service)}`]
  return [{ symptom: 'DNS resolution fails', ...wrong, commands }]
})

function targetOf(service: JsonObject): string {
  if (stringAt(service, 'spec', 'type') !== 'ExternalName') return ''
  return stringAt(service, 'spec', 'externalName').replace(/\.$/, '').toLowerCase()
}

type Wrong = Pick<Finding, 'cause' | 'evidence' | 'remedy'>

function addressProblem(target: string): Wrong | undefined {
  if (parseIp(target) === undefined) return undefined
  return {
    cause: `its externalName ${quote(target)} is an address: clients get an alias that has no records`,
    evidence: [`DNS answers CNAME ${target}, which is a name to a resolver`],
    remedy: 'write the name of the host, or a Service without selector with an EndpointSlice',
  }
}

/** Follows aliases inside the cluster, as far as their namespaces were read. */
function aliasProblem(service: JsonObject, evidence: ClusterEvidence): Wrong | undefined {
  const path = [keyOf(service)]
  for (let at: JsonObject | undefined = service; at !== undefined; ) {
    const key = serviceOfName(targetOf(at), evidence.clusterDomain)
    if (key === undefined) return undefined
    const isLoop = path.includes(key)
    path.push(key)
    if (isLoop) {
      return {
        cause: `its externalName leads back: ${path.join(' -> ')}`,
        evidence: [`${keyOf(at)} has the externalName ${quote(targetOf(at))}`],
        remedy: 'name a host outside, or a Service that is no alias itself',
      }
    }
    const next = evidence.find('services', key)
    if (next === undefined) return missing(key, targetOf(at), evidence)
    at = targetOf(next) === '' ? undefined : next
  }
  return undefined
}

/** The Service does not exist. If only one namespace was read, Services of others are not judged. */
function missing(key: string, target: string, evidence: ClusterEvidence): Wrong | undefined {
  const [namespace] = key.split('/')
  const isRead = evidence.all('services').some((one) => namespaceOf(one) === namespace)
  if (!isRead) return undefined
  return {
    cause: `its externalName ${quote(target)} names the Service ${key}, which does not exist`,
    evidence: [`${namespace} has other Services, and none of this name`],
    remedy: 'correct the name, or create the Service',
  }
}

/** `namespace/name` of a name such as `web.shop.svc.cluster.local`; undefined: it is not the name of a Service. */
function serviceOfName(target: string, clusterDomain: string): string | undefined {
  const [name, namespace, svc, ...domain] = target.split('.')
  const isOfCluster = domain.length === 0 || domain.join('.') === clusterDomain
  return svc === 'svc' && isOfCluster ? `${namespace}/${name}` : undefined
}
