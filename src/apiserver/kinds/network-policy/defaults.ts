import { own, type Raw } from '../../../resources/raw.ts'
import { change, changeEach, defaultProtocol, fill } from '../shared/edit.ts'

/**
 * The defaults of Kubernetes. Without `policyTypes` a policy is of type Ingress, and of type Egress too if it has
 * egress rules; a port without a protocol is TCP.
 */
export function defaultNetworkPolicy(policy: Raw): Raw {
  return change(policy, 'spec', (given) => {
    const spec = fill(given, { podSelector: {} })
    const rules = changeEach(changeEach(spec, 'ingress', defaultRule), 'egress', defaultRule)
    const types = own(rules, 'policyTypes')
    const isAbsent = types === undefined || (Array.isArray(types) && types.length === 0)
    return isAbsent ? { ...rules, policyTypes: impliedTypes(rules) } : rules
  })
}

function impliedTypes(spec: Raw): readonly string[] {
  const egress = own(spec, 'egress')
  return Array.isArray(egress) && egress.length > 0 ? ['Ingress', 'Egress'] : ['Ingress']
}

function defaultRule(rule: Raw): Raw {
  return changeEach(rule, 'ports', defaultProtocol)
}
