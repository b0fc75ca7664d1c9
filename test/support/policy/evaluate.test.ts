import { expect, test } from 'vitest'
import { parseIp } from '../../../src/lib/ip.ts'
import type { JsonObject } from '../../../src/lib/json.ts'
import { type ConnectionEnd, judgeConnection } from '../../../src/networkpolicy/judge-connection.ts'
import { readPolicyPod } from '../../../src/networkpolicy/network-policy.ts'
import { readPolicy } from '../../../src/networkpolicy/read-policy.ts'
import { isAdmitted, namespaceLabels } from './evaluate.ts'
import { objectsOf } from './policy-objects.ts'
import type { PolicySet } from './policy-set.ts'
import { randomSets } from './random-sets.ts'
import { allProbes, type Probe, type TestPod } from './universe.ts'
import { UPSTREAM_SETS } from './upstream-sets.ts'

const PROBES = allProbes(['Pod']).filter(({ source, target }) => source.isLocal && target.isLocal)
const SETS = [...UPSTREAM_SETS, ...randomSets(1, 60)]

test('the evaluator and the module that judges connections agree about every connection', () => {
  const differing = SETS.flatMap((set) => {
    const judged = judge(set)
    const probes = PROBES.filter((probe) => isAdmitted(set, probe) !== judged(probe))
    return probes.map((probe) => ({ set: set.name, probe }))
  })
  expect(differing).toEqual([])
})

test('most sets admit some connections and hold up others', () => {
  const partly = SETS.filter((set) => {
    const admitted = PROBES.filter((probe) => isAdmitted(set, probe)).length
    return admitted > PROBES.length / 10 && admitted < PROBES.length
  })
  expect(partly.length).toBeGreaterThan(SETS.length * 0.7)
})

test('the cases of upstream have names of their own, and random sets follow from their seed', () => {
  expect(new Set(UPSTREAM_SETS.map(({ name }) => name)).size).toBe(UPSTREAM_SETS.length)
  expect(randomSets(1, 5)).toEqual(randomSets(1, 9).slice(0, 5))
  expect(randomSets(1, 5)).not.toEqual(randomSets(2, 5))
})

function judge(set: PolicySet): (probe: Probe) => boolean {
  const objects = objectsOf(set).map((one) => structuredClone(one) as unknown as JsonObject)
  const policies = objects.filter(({ kind }) => kind === 'NetworkPolicy').map(readPolicy)
  const pods = new Map(
    objects
      .filter(({ kind }) => kind === 'Pod')
      .map((object) => {
        const { namespace = '' } = object['metadata'] as { readonly namespace?: string }
        const pod = readPolicyPod(object, { ...namespaceLabels(set, namespace) })
        return [pod?.key, pod]
      }),
  )
  const end = (pod: TestPod, { family }: Probe): ConnectionEnd => ({
    ip: parseIp(pod.ips[family])!,
    pod: pods.get(pod.key),
    node: undefined,
  })
  return (probe) =>
    judgeConnection(policies, {
      source: end(probe.source, probe),
      destination: end(probe.target, probe),
      protocol: probe.protocol,
      port: probe.port,
    }).isAdmitted
}
