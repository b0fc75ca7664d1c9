import { own, type Raw } from '../../../resources/raw.ts'
import { change, changeEach, defaultProtocol, fill } from '../shared/edit.ts'

/** A policy that names no types limits what comes in, and what goes out if it has egress rules. */
export function defaultNetworkPolicy(policy: Raw): Raw {
  return change(policy, 'spec', (given) => {
    const spec = fill(given, { podSelector: {} })
    const rules = changeEach(changeEach(spec, 'ingress', defaultRule), 'egress', defaultRule)
    const types = own(rules, 'policyTypes')
    const isGiven = types !== undefined && !(Array.isArray(types) && types.length === 0)
    return isGiven ? rules : { ...rules, policyTypes: impliedTypes(rules) }
  })
}

function impliedTypes(spec: Raw): readonly string[] {
  const egress = own(spec, 'egress')
  return Array.isArray(egress) && egress.length > 0 ? ['Ingress', 'Egress'] : ['Ingress']
}

function defaultRule(rule: Raw): Raw {
  return changeEach(rule, 'ports', defaultProtocol)
}
