import { isLabel, isSubdomain } from '../../../resources/names.ts'
import type { Reader } from '../../../resources/reader.ts'
import { readService } from '../../../resources/service.ts'
import { checkOneOf, checkSubdomain, DNS_FAULT } from '../shared/checks.ts'
import { checkMatchLabels } from '../shared/label-selector.ts'
import { refuseBareSourceRanges } from './bare-source-ranges.ts'
import { checkTopologyMode } from './topology-mode.ts'
import { checkServicePorts } from './validate-ports.ts'

const FAMILIES: readonly unknown[] = ['IPv4', 'IPv6']
const FAMILY_POLICIES = ['SingleStack', 'PreferDualStack', 'RequireDualStack']
const DNS_1035_FAULT =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
const DISTRIBUTIONS = ['PreferClose', 'PreferSameZone', 'PreferSameNode']

/**
 * A Service that may be written. Fields that another type of Service would use
 * (a node port of a ClusterIP Service, say) are let through: who changes only the
 * type sends them along, and the server clears them afterwards.
 */
export function checkService(object: Reader): void {
  readService(object)
  checkName(object.object('metadata'))
  const spec = object.object('spec')
  const annotations = object.object('metadata').map('annotations')
  refuseBareSourceRanges(spec, annotations)
  checkTopologyMode(annotations)
  checkServicePorts(spec)
  checkHeadless(spec)
  checkFamilies(spec)
  checkMatchLabels(spec, 'selector')
  checkExternalName(spec)
  checkOneOf(spec, 'trafficDistribution', DISTRIBUTIONS)
  for (const entry of object.object('status').object('loadBalancer').objects('ingress')) {
    checkSubdomain(entry, 'hostname')
  }
}

/** The name becomes one of DNS and of variables: it starts with a letter. */
function checkName(metadata: Reader): void {
  const name = metadata.value('name')
  if (typeof name === 'string' && isLabel(name) && !/^[a-z]/.test(name)) {
    metadata.refuse('name', DNS_1035_FAULT)
  }
}

function checkHeadless(spec: Reader): void {
  const several = spec.list('clusterIPs')
  const type = spec.value('type')
  const headless = spec.value('clusterIP') === 'None' || several.includes('None')
  if (headless && (type === 'NodePort' || type === 'LoadBalancer')) {
    spec.refuse('clusterIP', `must not be None for a Service of type ${type}`)
  }
  if (several.includes('None') && several.length > 1) {
    spec.refuse('clusterIPs', 'must be ["None"] alone, or addresses')
  }
}

function checkFamilies(spec: Reader): void {
  const families = spec.list('ipFamilies')
  for (const [index, family] of families.entries()) {
    if (!FAMILIES.includes(family)) spec.refuseItem('ipFamilies', index, 'must be IPv4 or IPv6')
    else if (families.indexOf(family) < index) {
      spec.refuseItem('ipFamilies', index, { isDuplicate: true, other: 'those before it' })
    }
  }
  checkOneOf(spec, 'ipFamilyPolicy', FAMILY_POLICIES)
}

function checkExternalName(spec: Reader): void {
  if (spec.value('type') !== 'ExternalName') return
  const name = spec.value('externalName')
  if (typeof name === 'string' && isSubdomain(name.replace(/\.$/, ''))) return
  spec.refuse('externalName', DNS_FAULT)
}
